package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/member"
	"choir/session/terms"
)

// roomFlags are the flags of a folder that is exchanged through the broker.
type roomFlags struct {
	config, room string

	loaded *member.Config
}

func (f *roomFlags) add(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.config, "config", "", "TOML file of the member, with the broker that documents go through")
	s.StringVar(&f.room, "room", "", "name of the consortium at the broker (default: the folder's name)")
	FilesOf(cmd, "toml", "config")
}

// load reads the configuration; without one it is empty.
func (f *roomFlags) load() (*member.Config, error) {
	if f.loaded != nil {
		return f.loaded, nil
	}
	f.loaded = &member.Config{}
	if f.config == "" {
		if f.room != "" {
			return nil, protocol.Fail(protocol.ClassInput, "--room: name the broker with --config")
		}
		return f.loaded, nil
	}
	c, err := member.LoadConfig(f.config, os.LookupEnv, nil)
	if err == nil {
		f.loaded = c
	}
	return c, err
}

// exchange is an open room, or none.
type exchange struct {
	app    *App
	room   *member.Room
	warned map[string]bool
}

// openRoom connects a folder to its room if the flags name a configuration.
func (a *App) openRoom(ctx context.Context, folder terms.Consortium, f *roomFlags, own identity.PublicKey) (
	*exchange, error) {
	c, err := f.load()
	if err != nil {
		return nil, err
	}
	x := &exchange{app: a, warned: map[string]bool{}}
	if f.config == "" {
		name, err := folder.Room()
		if err != nil {
			return nil, err
		}
		if name != "" {
			return nil, protocol.Fail(protocol.ClassInput, "--config: %s is exchanged through the broker: name "+
				"the member's file", string(folder))
		}
		return x, nil
	}
	if err := folder.SetRoom(f.room); err != nil {
		return nil, err
	}
	log, err := a.logger(c)
	if err != nil {
		return nil, err
	}
	x.room, err = member.OpenRoom(ctx, c, folder, own, log)
	return x, err
}

// sync exchanges documents and prints why some are left out.
func (x *exchange) sync(ctx context.Context, fingerprint string) error {
	if x.room == nil {
		return nil
	}
	if err := x.room.Sync(ctx, fingerprint); err != nil {
		return err
	}
	x.app.leftOut(x.room.Odd(), x.warned)
	return nil
}

func (x *exchange) close() {
	if x.room != nil {
		_ = x.room.Close() // everything was acknowledged
	}
}
