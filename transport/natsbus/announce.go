package natsbus

import (
	"strings"

	"github.com/nats-io/nats.go"
)

// Announcements are outside the plan's stream: they are neither stored nor acknowledged. A broker
// whose permissions or accounts do not let them through stops nothing else.
const announcePrefix = "choir-here."

// Announce publishes to all clients of the plan that listen at this moment.
func (b *Bus) Announce(data []byte) error {
	return b.wrap("announce", b.conn.Publish(announcePrefix+b.config.Plan+"."+b.config.name(), data))
}

// Listen calls f, from one goroutine, with what the plan's clients announce, until the Bus is
// closed. It hears this client, too, which shows that announcements arrive.
func (b *Bus) Listen(f func(data []byte)) error {
	_, err := b.conn.Subscribe(announcePrefix+b.config.Plan+".*", func(m *nats.Msg) { f(m.Data) })
	return b.wrap("listen", err)
}

// ofAnnouncements reports whether a violation concerns announcements only.
func (v violation) ofAnnouncements() bool { return strings.HasPrefix(v.subject, announcePrefix) }
