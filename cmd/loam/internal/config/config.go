package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// Sources says where values may come from.
type Sources struct {
	Args []string // the command line behind the command's name
	Env  []string // NAME=value pairs, as os.Environ gives them
	// Files are tried in their order when neither --config nor LOAM_CONFIG names one;
	// the first that exists is read. It is no error when none does.
	Files []string
	// Other are the LOAM_* variables that belong to somebody else, such as a client's.
	Other []string
	// Form is that of [Usage].
	Form []string
}

// Setting is one value of a command and its origin.
type Setting struct {
	Name    string // the flag's name
	Value   string
	Default string
	Help    string
	Origin  string // "default", "flag", "LOAM_HTTP" or "loam.yaml line 3"
	Secret  bool   // not to be printed
}

// Settings are the values of a command, in the order of their names.
type Settings struct {
	Rest     []string // what stands behind the flags
	Warnings []string // variables that nobody reads
	file     string   // the file that was read; empty for none
	flags    *flag.FlagSet
	secret   []string
	origin   map[string]string
}

// Parse sets the flags of f: the command line wins over the variables, these over
// the file, and the file over the flag's default. A variable LOAM_X_FILE holds the
// name of a file with the value of x, for the flags in secret. A wrong value, an
// unknown flag and an unknown key of the file are errors (22023) that name the place;
// -h is flag.ErrHelp, after the usage was printed to f's output.
func Parse(f *flag.FlagSet, src Sources, secret ...string) (*Settings, error) {
	s := &Settings{flags: f, secret: secret, origin: map[string]string{}}
	path := f.String("config", "", "YAML file with these settings; else loam.yaml here, else /etc/loam/loam.yaml")
	if err := ParseArgs(f, src.Args, src.Form...); err != nil {
		return nil, err
	}
	s.Rest = f.Args()
	f.Visit(func(fl *flag.Flag) { s.origin[fl.Name] = "flag" })
	if err := s.readEnv(src); err != nil {
		return nil, err
	}
	return s, s.readFile(*path, src.Files)
}

// set gives a flag a value unless a better source has.
func (s *Settings) set(name, value, origin string) error {
	if was, ok := s.origin[name]; ok && was != origin {
		return nil
	}
	if err := s.flags.Set(name, value); err != nil {
		return fail.New(fail.InvalidParameter, "%s: %q is no value of %s: %v", origin, s.shown(name, value), name, err).
			WithHint("loam serve -h lists the settings and what they take.")
	}
	s.origin[name] = origin
	return nil
}

// variable is the name of a flag's variable.
func variable(name string) string {
	return "LOAM_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// key is the name of a flag in the file.
func key(name string) string { return strings.ReplaceAll(name, "-", "_") }

func (s *Settings) readEnv(src Sources) error {
	known := map[string]string{}
	s.flags.VisitAll(func(fl *flag.Flag) { known[variable(fl.Name)] = fl.Name })
	for _, pair := range src.Env {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "LOAM_") || slices.Contains(src.Other, name) {
			continue
		}
		if err := s.readVariable(known, name, value); err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) readVariable(known map[string]string, name, value string) error {
	if fl, ok := known[name]; ok {
		return s.setVariable(fl, value, name)
	}
	base, isFile := strings.CutSuffix(name, "_FILE")
	if fl := known[base]; isFile && slices.Contains(s.secret, fl) {
		b, err := os.ReadFile(value)
		if err != nil {
			return fail.Wrap(fail.InvalidParameter, err, "%s", name)
		}
		return s.set(fl, strings.TrimRight(string(b), "\r\n"), name)
	}
	// A service called loam in Kubernetes makes LOAM_PORT and the like, so that an
	// unknown variable cannot be an error.
	w := name + " is no setting and is ignored"
	if near := fail.Closest(name, sortedKeys(known)); near != "" {
		w += "; did you mean " + near + "?"
	}
	s.Warnings = append(s.Warnings, w)
	return nil
}

// setVariable sets a flag from a variable, where commas separate the items of a List.
func (s *Settings) setVariable(fl, value, name string) error {
	if _, several := s.flags.Lookup(fl).Value.(*List); !several {
		return s.set(fl, value, name)
	}
	for item := range strings.SplitSeq(value, ",") {
		if err := s.set(fl, item, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) readFile(named string, tried []string) error {
	if named != "" {
		b, err := os.ReadFile(named)
		if err != nil {
			return fail.Wrap(fail.InvalidParameter, err, "--config")
		}
		return s.readYAML(named, b)
	}
	for _, path := range tried {
		b, err := os.ReadFile(path)
		switch {
		case err == nil:
			return s.readYAML(path, b)
		case !errors.Is(err, fs.ErrNotExist):
			return fail.Wrap(fail.InvalidParameter, err, "settings file")
		}
	}
	return nil
}

// File is the settings file that was read, or empty.
func (s *Settings) File() string { return s.file }

// All lists the settings by name.
func (s *Settings) All() []Setting {
	var out []Setting
	s.flags.VisitAll(func(fl *flag.Flag) {
		origin := s.origin[fl.Name]
		if origin == "" {
			origin = "default"
		}
		out = append(out, Setting{
			Name: fl.Name, Value: s.shown(fl.Name, fl.Value.String()), Default: fl.DefValue, Help: fl.Usage,
			Origin: origin, Secret: slices.Contains(s.secret, fl.Name),
		})
	})
	return out
}

// shown hides the value of a secret.
func (s *Settings) shown(name, value string) string {
	if value != "" && slices.Contains(s.secret, name) {
		return "***"
	}
	return value
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
