package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"choir/internal/broker"
)

const brokerLong = `Run the embedded NATS server with JetStream until a signal stops it. It carries
sealed and signed messages and isn't trusted. An existing NATS cluster
works, too.`

func (a *app) broker() *cobra.Command {
	var config string
	var flags broker.Config
	var followStdin bool
	cmd := &cobra.Command{
		Use: "broker --listen HOST:PORT --store DIR --token-file FILE", Short: "Run the embedded NATS server",
		Long: brokerLong, Args: cobra.NoArgs, Annotations: endsByClosing(),
		Example: "  choir broker --listen 127.0.0.1:4222 --store streams --token-file token\n" +
			"  choir broker --config broker.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := broker.Load(config, flags)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if followStdin {
				ctx = a.whileStdin(ctx)
			}
			return broker.Run(ctx, c, slog.New(a.logHandler(slog.LevelInfo)), func(url string) {
				fmt.Fprintln(a.out, url)
			})
		},
	}
	s := cmd.Flags()
	s.StringVar(&config, "config", "", "TOML file with the same settings: listen, store_dir, token_file, "+
		"tls_cert, tls_key, tls_client_ca, sync_always")
	s.StringVar(&flags.Listen, "listen", "", "TCP address; port 0 picks a free one")
	s.StringVar(&flags.StoreDir, "store", "", "folder for the streams")
	s.StringVar(&flags.TokenFile, "token-file", "",
		"file with the token that clients must present; created if there is none")
	s.StringVar(&flags.TLSCert, "tls-cert", "", "PEM file with the server's certificate")
	s.StringVar(&flags.TLSKey, "tls-key", "", "PEM file with the certificate's key")
	s.StringVar(&flags.TLSClientCA, "tls-client-ca", "", "PEM file with the roots of the clients' certificates")
	s.BoolVar(&followStdin, "follow-stdin", false, "stop when standard input closes")
	hide(cmd, "follow-stdin")
	folders(cmd, "store")
	filesOf(cmd, "toml", "config")
	return cmd
}
