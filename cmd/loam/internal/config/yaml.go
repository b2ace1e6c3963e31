package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loamdb/loam/internal/fail"
)

// readYAML reads a flat mapping of settings. A list gives a flag once for each of its
// items.
func (s *Settings) readYAML(path string, text []byte) error {
	s.file = path
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return fail.Wrap(fail.InvalidParameter, err, "%s", path)
	}
	if len(doc.Content) == 0 {
		return nil // an empty file
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return fail.New(fail.InvalidParameter, "%s line %d: a settings file is a list of lines \"key: value\"", path, root.Line)
	}
	known := map[string]string{}
	for _, set := range s.All() {
		known[key(set.Name)] = set.Name
	}
	delete(known, "config")
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		if was := seen[k.Value]; was > 0 {
			return fail.New(fail.InvalidParameter, "%s line %d: %s stands already in line %d", path, k.Line, k.Value, was)
		}
		seen[k.Value] = k.Line
		name, ok := known[k.Value]
		if !ok {
			return unknownKey(path, k, known)
		}
		if err := s.setNode(name, v, fmt.Sprintf("%s line %d", path, k.Line)); err != nil {
			return err
		}
	}
	return nil
}

func unknownKey(path string, k *yaml.Node, known map[string]string) error {
	e := fail.New(fail.InvalidParameter, "%s line %d: there is no setting %q", path, k.Line, k.Value)
	near := fail.Closest(strings.ReplaceAll(k.Value, "-", "_"), sortedKeys(known))
	if near != "" {
		return e.WithHint("Did you mean %q?", near)
	}
	return e.WithHint("The settings are: %s.", strings.Join(sortedKeys(known), ", "))
}

func (s *Settings) setNode(name string, v *yaml.Node, origin string) error {
	items := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		items = v.Content
	}
	for _, item := range items {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		if item.Kind != yaml.ScalarNode {
			return fail.New(fail.InvalidParameter, "%s: %s takes a value, or a list of values", origin, key(name))
		}
		value := item.Value
		if item.Tag == "!!null" {
			value = ""
		}
		if err := s.set(name, value, origin); err != nil {
			return err
		}
	}
	return nil
}

// YAML prints the settings as a file that gives the same values, each with its origin
// as a comment; secrets are hidden. A value that a flag holds several of is a list if
// the flag's value prints as lines.
func (s *Settings) YAML() string {
	var b strings.Builder
	for _, set := range s.All() {
		if set.Name == "config" {
			continue
		}
		fmt.Fprintf(&b, "%-32s # %s\n", key(set.Name)+": "+yamlValue(set.Value), set.Origin)
	}
	return b.String()
}

// yamlValue writes a value so that YAML reads the same text back: lines as a list.
func yamlValue(v string) string {
	node := scalar(v)
	if strings.Contains(v, "\n") {
		node = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for line := range strings.SplitSeq(v, "\n") {
			node.Content = append(node.Content, scalar(line))
		}
	}
	b, err := yaml.Marshal(node)
	if err != nil {
		return fmt.Sprintf("%q", v)
	}
	return strings.TrimRight(string(b), "\n")
}

// scalar is a text, quoted only where YAML needs it: numbers and booleans mean the
// same to a flag without quotes.
func scalar(v string) *yaml.Node {
	if v == "true" || v == "false" || v != "" && strings.Trim(v, "0123456789") == "" {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v}
	}
	n := &yaml.Node{}
	n.SetString(v)
	return n
}
