package rest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// examples are the commands of a page with what they print: blocks of console,
// where a command stands behind "$ " and goes on over lines that are indented.
func examples(page string) (commands, outputs []string) {
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(page, -1) {
		inCommand := false
		for line := range strings.Lines(block[1]) {
			at := len(commands) - 1
			switch {
			case strings.HasPrefix(line, "$ "):
				commands, outputs = append(commands, line[2:]), append(outputs, "")
				inCommand = true
			case inCommand && strings.HasPrefix(line, "    "):
				commands[at] += line
			default:
				inCommand = false
				outputs[at] += line
			}
		}
	}
	return commands, outputs
}

// TestTheExamplesOfTheDocumentation runs docs/rest.md from top to bottom against
// one server. Tokens, times and backlogs are whatever they are.
func TestTheExamplesOfTheDocumentation(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	page, err := os.ReadFile("../../docs/rest.md")
	if err != nil {
		t.Fatal(err)
	}
	s := real(t, Options{})
	commands, outputs := examples(string(page))
	if len(commands) < 15 {
		t.Fatalf("only %d examples were found", len(commands))
	}
	for i, command := range commands {
		run := exec.Command("bash", "-c", strings.ReplaceAll(command, "http://127.0.0.1:8816", s.srv.URL))
		run.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*")
		out, err := run.CombinedOutput()
		if got, want := masked(string(out)), masked(outputs[i]); err != nil || got != want {
			t.Errorf("%s\nprints %v\n%s\nthe page says\n%s", command, err, got, want)
		}
	}
}

func masked(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return strings.TrimSpace(text)
}
