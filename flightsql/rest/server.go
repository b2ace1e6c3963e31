package rest

import (
	"context"
	_ "embed"
	"html/template"
	"net"
	"net/http"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

func (a *api) serverRoutes() []endpoint {
	alive := endpoint{method: http.MethodGet, path: "/livez", op: "livez", tag: "Server", summary: "Tell that the process is alive",
		answers: answersJSON("Health", "It is."), public: true, serve: a.livez}
	healthy := alive
	healthy.path, healthy.op = "/healthz", "healthz"
	return []endpoint{
		{method: http.MethodGet, path: "/{$}", op: "root", tag: "Server", summary: "Name the server", public: true, serve: a.root,
			answers: []reply{{status: http.StatusOK, text: "Its name and version; a page for browsers.", types: map[string]string{mediaJSON: "Server", mediaHTML: ""}}}},
		alive, healthy,
		{method: http.MethodGet, path: "/readyz", op: "readyz", tag: "Server", summary: "Tell whether requests are served", public: true,
			answers: answersJSON("Health", "They are."), serve: a.readyz},
		{method: http.MethodGet, path: "/metrics", op: "metrics", tag: "Server", summary: "Metrics for Prometheus", public: true, serve: a.metrics(),
			answers: []reply{{status: http.StatusOK, text: "In Prometheus' text format.", types: map[string]string{"text/plain": ""}}}},
		{method: http.MethodGet, path: pathOpenAPI, op: "openapi", tag: "Server", summary: "This document", public: true, serve: a.openapi,
			answers: answersJSON("Document", "OpenAPI 3.1.")},
	}
}

// health is the answer of the probes.
type health struct {
	Status string         `json:"status"`
	Build  loam.BuildInfo `json:"build"`
	Checks []check        `json:"checks,omitempty"`
}

// check is one thing that a server needs.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

func (a *api) livez(_ context.Context, w *answer, _ *http.Request) error {
	return writeValue(w, http.StatusOK, health{Status: "ok", Build: loam.Build()})
}

func (a *api) readyz(ctx context.Context, w *answer, _ *http.Request) error {
	if err := a.engine.Ready(ctx); err != nil {
		return fail.Wrap(fail.Unavailable, err, "not ready: metastore")
	}
	return writeValue(w, http.StatusOK, health{Status: "ready", Build: loam.Build(), Checks: []check{{Name: "metastore", OK: true}}})
}

func (a *api) openapi(_ context.Context, w *answer, _ *http.Request) error {
	return writeJSON(w, a.document[:len(a.document):len(a.document)])
}

const docsURL = "https://github.com/loamdb/loam"

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// root names the server: a page for browsers, JSON for all others.
func (a *api) root(ctx context.Context, w *answer, r *http.Request) error {
	media, err := accepted(r, mediaJSON, mediaHTML)
	if err != nil {
		return err
	}
	if media == mediaJSON {
		out := object{"name": "loam", "version": loam.Version, "docs": docsURL, "openapi": pathOpenAPI}
		if a.opts.Flight != "" {
			out["flight_sql"] = reachable(a.opts.Flight, r.Host)
		}
		return writeValue(w, http.StatusOK, out)
	}
	w.Header().Set("Content-Type", contentType(mediaHTML))
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	return page.Execute(w, a.pageValues(ctx, r))
}

// pageValues are what the page says. It names the addresses as the browser reached
// them: a server that listens on every address is not at 0.0.0.0 for its clients.
func (a *api) pageValues(ctx context.Context, r *http.Request) map[string]any {
	values := map[string]any{"Version": loam.Version, "Docs": docsURL, "OpenAPI": pathOpenAPI, "HTTP": r.Host, "Flight": reachable(a.opts.Flight, r.Host),
		"TLS": r.TLS != nil, "Scheme": "grpc", "Web": "http", "Users": a.opts.Users != nil, "Reason": ""}
	if r.TLS != nil {
		values["Scheme"], values["Web"] = "grpc+tls", "https"
	}
	if err := a.engine.Ready(ctx); err != nil {
		values["Reason"] = "the metastore does not answer"
	}
	return values
}

// reachable is address with the host of a request in the place of "every address".
func reachable(address, host string) string {
	h, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(h); err != nil || h != "" && (ip == nil || !ip.IsUnspecified()) {
		return address
	}
	if only, _, err := net.SplitHostPort(host); err == nil {
		host = only
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}
