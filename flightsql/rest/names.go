package rest

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// checkNames refuses requests that a foreign web page can make a browser send to
// loopback: a Host that is not ours (DNS rebinding), an Origin that is not ours.
func (a *api) checkNames(r *http.Request) error {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	// Where credentials are needed, a page that has none gains nothing by a name.
	if a.auth.Open() && !a.ours(host) {
		return fail.New(fail.PermissionDenied, "the Host %.100q is not a name of this server", r.Host).
			WithHint("Allow it in the server's list of host names.")
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return fromElsewhere(r)
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !a.ours(u.Hostname()) && !strings.EqualFold(u.Hostname(), strings.Trim(host, "[]")) {
		return fail.New(fail.PermissionDenied, "the Origin %.100q is not a name of this server", origin)
	}
	return nil
}

// fromElsewhere refuses what a page of another site makes a browser load without
// an Origin, as an image or a script, though it could not read the answer. A link
// that a person follows is let through.
func fromElsewhere(r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return fail.New(fail.PermissionDenied, "a page of another site may not load this")
	}
	return nil
}

func (a *api) ours(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" {
		return true
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return true
	}
	for _, name := range a.opts.Hosts {
		if name == "*" || strings.EqualFold(name, host) {
			return true
		}
	}
	return false
}
