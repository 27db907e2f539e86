package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/members"
	"cairn/bus/natsserver"
	"cairn/schemas"
)

// nodes is the size of the cluster.
const nodes = 3

// crashKinds is the number of kinds of crashes.
const crashKinds = 5

// cluster is a set of "cairn up" processes whose routes go through links.
type cluster struct {
	program, dir string
	alone        bool     // a stand-alone node, at the addresses of all nodes
	flags        []string // further flags of "cairn up"
	env          []string // further environment variables
	names        [nodes]string
	httpAddr     [nodes]string
	natsAddr     [nodes]string
	routeAddr    [nodes]string
	links        [nodes][nodes]*bustest.Proxy // from, to
	procs        [nodes]process
	parts        []*process // further processes, see startRoles
	clocks       []clock    // of the nodes; none: the clock of this machine
	mounted      []string   // mounted disks of the nodes; none: all use the disk of dir
}

// newCluster allocates addresses and links for the nodes. It does not start them.
func newCluster(program, dir string, flags ...string) (*cluster, error) {
	c := &cluster{program: program, dir: dir, flags: flags}
	for i := range nodes {
		c.names[i] = "node" + strconv.Itoa(i)
		for _, address := range []*string{&c.httpAddr[i], &c.natsAddr[i], &c.routeAddr[i]} {
			var err error
			if *address, err = bustest.UnusedAddress(); err != nil {
				return nil, err
			}
		}
	}
	for i := range nodes {
		for j := range nodes {
			if i == j {
				continue
			}
			var err error
			if c.links[i][j], err = bustest.OpenProxy(c.routeAddr[j]); err != nil {
				return nil, errors.Join(err, c.close())
			}
		}
	}
	return c, nil
}

// standAlone makes the first node a stand-alone one, at the addresses of all nodes.
func (c *cluster) standAlone() {
	c.alone = true
	for i := range nodes {
		c.httpAddr[i], c.natsAddr[i] = c.httpAddr[0], c.natsAddr[0]
	}
}

// starts returns the number of starts of the process of the node's edge.
func (c *cluster) starts(i int) int64 {
	if c.alone {
		i = 0
	}
	return c.procs[i].starts.Load()
}

// run starts the node.
func (c *cluster) run(i int) error {
	c.procs[i].name, c.procs[i].log = c.names[i], filepath.Join(c.dir, c.names[i]+".log")
	c.procs[i].command = func() *exec.Cmd { return c.command(i) }
	return c.procs[i].start()
}

func (c *cluster) command(i int) *exec.Cmd {
	var routes []string
	for _, l := range c.links[i] {
		if l != nil {
			routes = append(routes, l.Address())
		}
	}
	// Gossiped routes are unreachable, so that all traffic goes through links.
	args := append([]string{"up", "--http", c.httpAddr[i], "--nats-listen", c.natsAddr[i], "--data", c.data(i),
		"--log-level", "warn"},
		c.flags...)
	if !c.alone {
		args = append(args, "--cluster", "faults", "--node", c.names[i], "--cluster-listen", c.routeAddr[i],
			"--cluster-advertise", "127.0.0.1:1", "--routes", strings.Join(routes, ","))
	}
	cmd := exec.Command(c.program, args...) // #nosec G204 -- the program is an option
	cmd.Env = append(os.Environ(), c.env...)
	if len(c.clocks) > 0 {
		cmd.Env = append(cmd.Env, c.clocks[i].variable())
	}
	return cmd
}

// addClocks gives each node a clock. The program must read it.
func (c *cluster) addClocks() error {
	for i := range nodes {
		clock, err := newClock(filepath.Join(c.dir, "clock"+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		c.clocks = append(c.clocks, clock)
	}
	return nil
}

// data returns the node's data directory.
func (c *cluster) data(i int) string { return filepath.Join(c.directory(i), "data") }

// cutOutbound stops the traffic from the node to the others until heal.
func (c *cluster) cutOutbound(i int) { c.cut(i, bustest.Forward, bustest.Backward) }

// cutInbound stops the traffic from the others to the node until heal.
func (c *cluster) cutInbound(i int) { c.cut(i, bustest.Backward, bustest.Forward) }

// cut cuts the links from the node in the direction own, and those to it in the
// direction others.
func (c *cluster) cut(i int, own, others bustest.Direction) {
	for j := range nodes {
		if i != j {
			c.links[i][j].Cut(own)
			c.links[j][i].Cut(others)
		}
	}
}

// replace removes the killed node from the cluster, and starts a new one with another
// name and an empty data directory at its address.
func (c *cluster) replace(ctx context.Context, i int) error {
	if err := c.remove(ctx, i); err != nil {
		return err
	}
	if err := os.RemoveAll(c.data(i)); err != nil {
		return err
	}
	c.names[i] = fmt.Sprintf("node%d-%d", i, c.procs[i].starts.Load())
	return c.run(i)
}

// remove removes the node from the cluster as soon as the others report it offline.
func (c *cluster) remove(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	urls := "nats://" + c.natsAddr[(i+1)%nodes] + ",nats://" + c.natsAddr[(i+2)%nodes]
	for {
		out, err := exec.CommandContext(ctx, c.program, "cluster", "remove", c.names[i], "--nats", urls).CombinedOutput()
		if err == nil {
			return nil
		}
		sleep(ctx, time.Second)
		if ctx.Err() != nil {
			return fmt.Errorf("remove %s from the cluster: %w: %s", c.names[i], err, out)
		}
	}
}

// crash kills the node, or stops it and then deletes or truncates the indexes of its message stores. A server
// writes an index when it stops, and every two minutes. It returns a description.
func (c *cluster) crash(i, kind int) (description string, err error) {
	if kind >= 2 {
		c.procs[i].kill()
		return "SIGKILL", nil
	}
	c.procs[i].stop()
	description = [...]string{"stopped, indexes deleted", "stopped, indexes truncated"}[kind]
	files, err := filepath.Glob(filepath.Join(c.data(i), "jetstream", "*", "streams", "*", "msgs", "index.db"))
	for _, file := range files {
		switch info, failed := os.Stat(file); {
		case failed != nil:
			err = errors.Join(err, failed)
		case kind == 0:
			err = errors.Join(err, os.Remove(file))
		default:
			err = errors.Join(err, os.Truncate(file, info.Size()/2))
		}
	}
	return description, err
}

func (c *cluster) heal() {
	for _, row := range c.links {
		for _, l := range row {
			if l != nil {
				l.Heal()
			}
		}
	}
}

// waitHealthy waits until all nodes are healthy. It returns the last reason why one was
// not, or "".
func (c *cluster) waitHealthy(ctx context.Context) (reason string, err error) {
	for {
		problem := c.problem(ctx)
		if problem == "" {
			return reason, nil
		}
		if ctx.Err() != nil {
			return reason, fmt.Errorf("the cluster is not healthy; the logs are in %s: %s", c.dir, reason)
		}
		reason = problem
		sleep(ctx, 100*time.Millisecond)
	}
}

// problem returns why the cluster is not healthy, or "".
func (c *cluster) problem(ctx context.Context) string {
	for i := range nodes {
		if status, problem := c.health(ctx, i); status == schemas.StatusDown {
			return c.names[i] + " is down: " + problem
		}
	}
	if c.alone {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := c.connect("")
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	streams := conn.JetStream().ListStreams(ctx)
	for info := range streams.Info() {
		if info.Cluster == nil || info.Cluster.Leader == "" {
			return fmt.Sprintf("stream %s has no leader", info.Config.Name)
		}
		if problems := bucket.ReplicaProblems(info); len(problems) > 0 {
			return problems[0]
		}
	}
	if err := streams.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// connect connects to NATS at any node; user is empty or ends with "@".
func (c *cluster) connect(user string) (*bus.Conn, error) {
	return bus.Open("nats://"+user+strings.Join(c.natsAddr[:], ",nats://"+user), "cairn-robustness")
}

// health returns the health status of the node and its problems.
func (c *cluster) health(ctx context.Context, i int) (status, problem string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.httpAddr[i]+"/health", nil)
	if err != nil {
		return schemas.StatusDown, err.Error()
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return schemas.StatusDown, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	var h schemas.Health
	if err := json.UnmarshalRead(res.Body, &h); err != nil {
		return schemas.StatusDown, err.Error()
	}
	return h.Status, strings.Join(h.Degraded, "; ")
}

// lead makes the node that leads the cluster the leader of all streams of the workload, too,
// and returns it, or any node without a leader. Such a node considers itself the leader for
// longest: one that loses the leader of the cluster refuses requests soon.
func (c *cluster) lead(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := c.connect(natsserver.SystemUser + "@")
	if err != nil {
		return 0
	}
	defer conn.Close()
	status, err := members.Read(ctx, conn)
	if err != nil {
		return 0
	}
	leads := slices.IndexFunc(status.Nodes, func(n members.Node) bool { return n.Leader })
	if leads < 0 {
		return 0
	}
	node := max(0, slices.Index(c.names[:], status.Nodes[leads].Name))
	for _, stream := range streams {
		for n := 0; c.leader(ctx, stream) != node && ctx.Err() == nil; n++ {
			if n%10 == 0 { // once a second
				c.elect(ctx, stream, node)
			}
			sleep(ctx, 100*time.Millisecond)
		}
	}
	return node
}

// streams are the streams of the workload.
var streams = []string{bucket.StreamPrefix + bucket.Tags, bucket.StreamPrefix + bucket.Catalog,
	bus.Analyze.ReplayStream()}

// elect asks the leader of the stream to step down in favour of the node.
func (c *cluster) elect(ctx context.Context, stream string, node int) {
	conn, err := c.connect("")
	if err != nil {
		return
	}
	defer conn.Close()
	body := `{"placement":{"preferred":"` + c.names[node] + `"}}`
	// The caller checks the result.
	_, _ = conn.JetStream().Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, []byte(body))
}

// leader returns the node that leads the stream, or -1 if the leader is unknown.
func (c *cluster) leader(ctx context.Context, stream string) int {
	conn, err := c.connect("")
	if err != nil {
		return -1
	}
	defer conn.Close()
	s, err := conn.JetStream().Stream(ctx, stream)
	if err != nil || s.CachedInfo().Cluster == nil {
		return -1
	}
	return slices.Index(c.names[:], s.CachedInfo().Cluster.Leader)
}

func (c *cluster) close() error {
	for i := range nodes {
		c.procs[i].kill()
	}
	for _, p := range c.parts {
		p.kill()
	}
	var errs []error
	for _, row := range c.links {
		for _, l := range row {
			if l != nil {
				errs = append(errs, l.Close())
			}
		}
	}
	return errors.Join(append(errs, c.unmountAll())...)
}

// mountDisks mounts a small disk for each node, which requires root on Linux. Without
// disks, Run injects no full disks and no power failures.
func (c *cluster) mountDisks() error {
	for i := range nodes {
		if err := os.MkdirAll(c.directory(i), 0o700); err != nil {
			return err
		}
		if err := mount(c.directory(i), diskSize); err != nil {
			return errors.Join(fmt.Errorf("mount a disk for %s: %w", c.names[i], err), c.unmountAll())
		}
		c.mounted = append(c.mounted, c.directory(i))
	}
	return nil
}

// directory returns the directory with the node's data, the mount point of its disk.
func (c *cluster) directory(i int) string { return filepath.Join(c.dir, "disk"+strconv.Itoa(i)) }

func (c *cluster) unmountAll() error {
	var errs []error
	for _, directory := range c.mounted {
		errs = append(errs, unmount(directory))
	}
	c.mounted = nil
	return errors.Join(errs...)
}

// fill fills the node's disk.
func (c *cluster) fill(i int) error {
	f, err := os.Create(filepath.Join(c.directory(i), filler))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the error is irrelevant once the disk is full
	for block := make([]byte, 1<<20); len(block) > 0; {
		_, err := f.Write(block)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			block = block[:len(block)/2]
		case err != nil:
			return err
		}
	}
	return nil
}

// startRoles starts the cluster as separate processes: as many NATS servers and edges as nodes,
// and two workers of each role. The edges are c.procs.
func (c *cluster) startRoles() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	urls := "nats://" + strings.Join(c.natsAddr[:], ",nats://")
	for i := range nodes {
		node := strings.Join([]string{c.names[i], c.natsAddr[i], c.routeAddr[i], strings.Join(c.routeAddr[:], ","),
			c.data(i)},
			" ")
		c.addPart("nats"+strconv.Itoa(i), func() *exec.Cmd {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), natsVariable+"="+node)
			return cmd
		})
	}
	for _, p := range c.parts {
		if err := p.start(); err != nil {
			return err
		}
	}
	if out, err := exec.Command(c.program, "setup", "--replicas", strconv.Itoa(nodes), "--nats",
		urls).CombinedOutput(); err != nil {
		return fmt.Errorf("cairn setup: %w: %s", err, out)
	}
	for _, role := range workerRoles {
		for n := range 2 {
			c.addPart(role+strconv.Itoa(n), c.roleCommand(urls, append([]string{"worker", role}, c.flags...)))
		}
	}
	for i := range nodes {
		p := &c.procs[i]
		p.name = "edge" + strconv.Itoa(i)
		p.log = filepath.Join(c.dir, p.name+".log")
		p.command = c.roleCommand(urls, []string{"edge", "--http", c.httpAddr[i]})
	}
	for _, p := range c.processes() {
		if p.running != nil {
			continue
		}
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) addPart(name string, command func() *exec.Cmd) {
	c.parts = append(c.parts, &process{name: name, log: filepath.Join(c.dir, name+".log"), command: command})
}

func (c *cluster) roleCommand(urls string, args []string) func() *exec.Cmd {
	return func() *exec.Cmd {
		args := append(slices.Clone(args), "--nats", urls, "--log-level", "warn")
		return exec.Command(c.program, args...) // #nosec G204 -- the program is an option
	}
}

// processes returns all processes: each NATS server is followed by several others, so that it
// has the data of the others before the next one is killed.
func (c *cluster) processes() (list []*process) {
	servers, others := c.parts[:nodes], slices.Clone(c.parts[nodes:])
	for i := range nodes {
		others = append(others, &c.procs[i])
	}
	for i, p := range servers {
		list = append(list, p)
		list = append(list, others[i*len(others)/nodes:(i+1)*len(others)/nodes]...)
	}
	return list
}
