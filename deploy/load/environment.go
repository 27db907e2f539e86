package load

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
)

// Environment describes the machine and the service of a measurement.
type Environment struct {
	URL      string            `json:"url"`
	Version  string            `json:"version"`            // of the service
	Backends map[string]string `json:"backends,omitempty"` // of the service
	Client   string            `json:"client"`             // version of the client
	System   string            `json:"system"`             // of the client, like the fields below
	CPUs     int               `json:"cpus"`
	// Load is the load average over the minute before the measurement; absent where
	// unknown.
	Load *float64 `json:"load,omitzero"`
}

// Here returns the environment of this machine.
func Here() Environment {
	e := Environment{System: runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version(), CPUs: runtime.NumCPU()}
	text, _ := os.ReadFile("/proc/loadavg") // absent on other systems
	if fields := bytes.Fields(text); len(fields) > 0 {
		if load, err := strconv.ParseFloat(string(fields[0]), 64); err == nil {
			e.Load = &load
		}
	}
	return e
}
