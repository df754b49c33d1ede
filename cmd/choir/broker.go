package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/internal/broker"
)

const brokerLong = `Run the embedded NATS server with JetStream until a signal stops it. It carries
sealed and signed messages and isn't trusted. An existing NATS cluster
works, too.`

func (a *tools) broker() *cobra.Command {
	var config string
	var flags broker.Config
	var followStdin bool
	cmd := &cobra.Command{
		Use: "broker --listen HOST:PORT --store DIR --token-file FILE", Short: "Run the embedded NATS server",
		Long: brokerLong, Args: cobra.NoArgs, Annotations: cli.EndsByClosing(),
		Example: "  choir broker --listen 127.0.0.1:4222 --store streams --token-file token\n" +
			"  choir broker --config broker.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := broker.Load(config, flags)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if followStdin {
				ctx = a.WhileStdin(ctx)
			}
			return broker.Run(ctx, c, slog.New(a.LogHandler(slog.LevelInfo)), func(url string) {
				fmt.Fprintln(a.Out, url)
			})
		},
	}
	s := cmd.Flags()
	s.StringVar(&config, "config", "", "TOML file with these settings: listen, store_dir, token_file, "+
		"tls_cert, tls_key, tls_client_ca; and with sync_always, and users: a password file for each member "+
		"by name, in place of the token")
	s.StringVar(&flags.Listen, "listen", "", "TCP address; port 0 picks a free one")
	s.StringVar(&flags.StoreDir, "store", "", "folder for the streams")
	s.StringVar(&flags.TokenFile, "token-file", "",
		"file with the token that clients must present; created if there is none")
	s.StringVar(&flags.TLSCert, "tls-cert", "", "PEM file with the server's certificate")
	s.StringVar(&flags.TLSKey, "tls-key", "", "PEM file with the certificate's key")
	s.StringVar(&flags.TLSClientCA, "tls-client-ca", "", "PEM file with the roots of the clients' certificates")
	s.BoolVar(&followStdin, "follow-stdin", false, "stop when standard input closes")
	cli.Hide(cmd, "follow-stdin")
	cli.Folders(cmd, "store")
	cli.FilesOf(cmd, "toml", "config")
	return cmd
}
