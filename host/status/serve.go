package status

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"sync"
	"time"
)

//go:embed page.html
var pageText string

// Handler serves the page, the status, the figures and the member's health.
func (s *Station) Handler() (http.Handler, error) {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("station: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		if err := page.Execute(&b, s.Status()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = w.Write(b.Bytes()) // a reader that has gone is none of ours
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Status()) // as above
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		v := s.Status()
		if v.State == "stopped" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = fmt.Fprintln(w, v.State) // as above
	})
	mux.Handle("GET /metrics", s.figures.handler())
	return mux, nil
}

// Listen opens an address, host:port, and serves on it until ctx ends or the returned
// function is called, which waits for its end. Port 0 takes any. It returns the address that it got. Errors: an
// address that can't be listened on.
func (s *Station) Listen(ctx context.Context, address string) (string, func(), error) {
	handler, err := s.Handler()
	if err != nil {
		return "", nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("station: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	return l.Addr().String(), sync.OnceFunc(func() {
		stop()
		_ = server.Close() // what can't be closed is closed already
		<-done
	}), nil
}
