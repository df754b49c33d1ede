package member

import (
	"context"

	"choir/host/status"
	"choir/protocol"
)

// watch starts the member's status page, if it has one. notify receives notices;
// stopped receives the end of the session and stops the page.
func (m *Member) watch(ctx context.Context) (notify func(protocol.Notice), stopped func(error), err error) {
	listen := m.Config.Station.Listen
	if listen == "" {
		return func(protocol.Notice) {}, func(error) {}, nil
	}
	s := status.New(status.Config{Session: m.Session, Member: m.Index})
	address, shut, err := s.Listen(ctx, listen)
	if err != nil {
		return nil, nil, protocol.Fail(protocol.ClassInput, "config: station.listen: %w", err)
	}
	m.advise = s.Advise
	m.Log.Info("watchable", "event", "watchable", "address", address)
	return s.Notify, func(err error) {
		s.Stopped(err)
		shut()
	}, nil
}
