package demo

import "encoding/json"

// lanceAddress reads uri and version out of a plan's JSON.
func lanceAddress(plan []byte) (uri, version string) {
	var p struct {
		Lance struct {
			URI     string      `json:"uri"`
			Version json.Number `json:"version"`
		} `json:"lance"`
	}
	if json.Unmarshal(plan, &p) != nil {
		return "", ""
	}
	return p.Lance.URI, p.Lance.Version.String()
}
