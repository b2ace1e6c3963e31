package main

import (
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestAvailable(t *testing.T) {
	const machine = "MemTotal:        8388608 kB\nMemFree:          123 kB\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing is known", nil, 0},
		{"no group", map[string]string{"proc/meminfo": machine}, 8 << 30},
		{"a group without a limit", map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 8 << 30},
		{"a container", map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30},
		{"a service in a slice", map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "max\n", "sys/fs/cgroup/a.slice/memory.max": "2147483648\n"}, 2 << 30},
		{"the first version", map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "12:cpu:/x\n5:memory:/docker/1\n1:name=systemd:/y\n",
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "536870912\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 512 << 20},
		{"a limit above the machine", map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1099511627776\n"}, 8 << 30},
		{"a path that leads out", map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/../../..\n", "sys/fs/cgroup/memory.max": "1073741824\n", "memory.max": "5\n"}, 1 << 30},
		{"nonsense", map[string]string{"proc/meminfo": "MemTotal: many\n", "proc/self/cgroup": "0\n::\n7:memory:\n"}, 0},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := available(root); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}

func TestMemoryConfig(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }()
	root := fstest.MapFS{"proc/meminfo": &fstest.MapFile{Data: []byte("MemTotal: 1048576 kB\n")}}
	if q, got := (memoryConfig{}).apply(root), debug.SetMemoryLimit(-1); got != 1<<30/10*9 || q != got/2 {
		t.Errorf("of 1 GiB: %d, %d for queries", got, q)
	}
	if q, got := (memoryConfig{mib: 64 << 10}).apply(root), debug.SetMemoryLimit(-1); got != 64<<30 || q != maxQueryBytes {
		t.Errorf("of 64 GiB by word: %d, %d for queries", got, q)
	}
	if q := (memoryConfig{}).apply(fstest.MapFS{}); q != 0 {
		t.Errorf("of nobody knows: %d for queries", q)
	}
	t.Setenv("GOMEMLIMIT", "5GiB")
	before := debug.SetMemoryLimit(-1)
	if q := (memoryConfig{mib: 1024}).apply(root); q != 512<<20 || debug.SetMemoryLimit(-1) != before {
		t.Error("GOMEMLIMIT does not go before the flag")
	}
}
