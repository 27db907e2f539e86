package test

import (
	"errors"
	"fmt"

	"cairn/edge/access"
	"cairn/test/cairntest"
)

// multiProcess runs the built program, one process per part, with one NATS server.
func multiProcess(c setup) (*system, error) {
	program, err := cairntest.Build()
	if err != nil {
		return nil, err
	}
	s, err := serverOf(c)
	if err != nil {
		return nil, err
	}
	s.halt = s.terminate
	if err := s.launch(program, c); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// launch starts all processes and returns when all serve.
func (s *system) launch(program string, c setup) error {
	workers := c.workers
	if workers == nil {
		workers = [][]string{nil}
	}
	if c.idle {
		workers = nil
	}
	for _, roles := range workers {
		args := append([]string{"worker", "--nats", s.nats, "--model", modelURL(c), "--render", c.render,
			"--tenant-records-size", "4096"}, roles...)
		if c.index != "" {
			args = append(args, "--index", c.index)
		}
		if c.embed != "" {
			args = append(args, "--embed", c.embed)
		}
		if c.tagTTL > 0 {
			args = append(args, "--tag-ttl", c.tagTTL.String())
		}
		if c.grace > 0 {
			args = append(args, "--analyze-grace", c.grace.String())
		}
		s.workers = append(s.workers, launch(program, args...))
	}
	args := []string{"edge", "--nats", s.nats, "--http", "127.0.0.1:0", "--ard-publisher", publisherDomain, "--ard-url",
		publisherURL}
	if c.keys {
		args = append(args, "--auth", "keys")
	}
	if c.limits != (access.Limits{}) {
		args = append(args, "--rate-limit", fmt.Sprint(c.limits.Rate), "--stream-limit", fmt.Sprint(c.limits.Streams))
	}
	s.edges = append(s.edges, launch(program, args...))
	if c.analyzeTimeout > 0 {
		s.edges = append(s.edges, launch(program, append(args, "--analyze-timeout", c.analyzeTimeout.String())...))
	}
	for _, p := range append(s.edges[:len(s.edges):len(s.edges)], s.workers...) {
		if err := p.WaitReady(); err != nil {
			return err
		}
	}
	s.edge = s.edges[0].URL()
	if c.analyzeTimeout > 0 {
		s.secondEdge = s.edges[1].URL()
	}
	return nil
}

// terminate ends the edges, then the workers.
func (s *system) terminate() error {
	return errors.Join(cairntest.StopAll(s.edges), cairntest.StopAll(s.workers))
}

// launch starts the program and returns immediately.
func launch(program string, args ...string) *cairntest.Process {
	return cairntest.Launch(cairntest.Command(program, nil, args...))
}
