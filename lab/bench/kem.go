package bench

import (
	"crypto/rand"

	"choir/crypto/channel"
)

// kemChannels is how many channels a worker sets up to know what one costs.
const kemChannels = 128

// kemSeconds is the processor time of setting up a channel's secret at both ends, and nothing else of the
// set-up: an HPKE encapsulation and the decapsulation, measured on all workers at once.
func kemSeconds(cfg Config) (float64, error) {
	key, err := channel.GenerateKey(cfg.Suite, rand.Reader)
	if err != nil {
		return 0, err
	}
	public, info := key.Public(), make([]byte, 32)
	c, err := Measure(func() error {
		return parallel(cfg.Workers, cfg.Workers, func(int) error {
			for range kemChannels {
				enc, _, err := channel.Initiate(cfg.Suite, public, info)
				if err != nil {
					return err
				}
				if _, err := channel.Accept(key, enc, info); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return c.CPUSeconds / float64(cfg.Workers*kemChannels), err
}

// setUp sets what the set-up takes beside its channels' encapsulations and decapsulations alone.
func (r *Result) setUp(m *meter) {
	r.SecondsSetup, r.CPUSetup = m.seconds(func(p *Phase) bool {
		return p.Phase == "keys" || p.Phase == "channels"
	})
	channels := r.Parties*(r.Computes+1) + r.Computes
	r.LimitSetup = float64(channels) * r.Limits.KEM
	r.SetupRatio = r.CPUSetup / r.LimitSetup
}
