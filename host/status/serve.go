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

var page = template.Must(template.New("page").Parse(pageText))

// handler serves the page, the status, the figures and the member's health. It ignores
// errors of writing: the reader has gone.
func (m *Monitor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		if err := page.Execute(&b, m.Status()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = w.Write(b.Bytes())
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m.Status())
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		v := m.Status()
		answer(w, v.State != "stopped" && !v.Overdue, v)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		v := m.Status()
		ready := v.State == "completed" || v.State == "working" && v.Connected && !v.Overdue && len(v.Missing) == 0
		answer(w, ready, v)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		m.mu.Lock()
		m.figures.write(&b)
		m.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(b.Bytes())
	})
	return mux
}

// answer gives 200 or 503, the state, and then what a person should look at.
func answer(w http.ResponseWriter, ok bool, v Status) {
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintln(w, v.State)
	if v.State == "joining" || v.State == "working" {
		for _, need := range v.Needs {
			_, _ = fmt.Fprintln(w, need)
		}
	}
}

// Listen serves on an address, host:port, until ctx ends or the returned function is
// called, which waits for the end. Port 0 means any free port. Listen returns the address
// with the port in use, or an error if it cannot listen.
func (m *Monitor) Listen(ctx context.Context, address string) (string, func(), error) {
	return Listen(ctx, address, m.handler())
}

// Listen serves a handler as [Monitor.Listen] does.
func Listen(ctx context.Context, address string, handler http.Handler) (string, func(), error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("status page: %w", err)
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		MaxHeaderBytes:    16 << 10,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	return l.Addr().String(), sync.OnceFunc(func() {
		stop()
		_ = server.Close() // an error means that it is closed already
		<-done
	}), nil
}
