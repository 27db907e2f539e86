package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Fault is an injected fault. Times are since the start of the workload.
type Fault struct {
	What     string
	Nodes    []int         // the faulty nodes
	Majority bool          // a majority of the nodes fails at the same time
	Skew     time.Duration // by which the clocks of nodes differ
	At       time.Duration
	Ended    time.Duration     // the fault is over, but the nodes may not have recovered
	Healthy  time.Duration     // all nodes are healthy
	Effects  map[string]Effect // by kind of request, at the other nodes, until the next fault
}

// kind is a kind of fault.
type kind struct {
	description string        // description; %[1]s and %[2]s are the names of the first and second node
	nodes       int           // number of faulty nodes; the first is the leader of the cluster and of the streams
	follower    bool          // the first node is any
	disk        bool          // requires a disk for each node
	clock       bool          // requires a clock for each node
	skew        time.Duration // by which the clocks of nodes differ
	inject      func(ctx context.Context, c *cluster, nodes []int) error
}

const (
	// faultTime is the duration of most faults: longer than the election of a leader.
	faultTime = 10 * time.Second
	// faultInterval is the time between the recovery from a fault and the next one.
	faultInterval = 4 * time.Second
)

// kinds lists all faults.
var kinds = []kind{
	{description: "SIGKILL of %[1]s, the leader, restarted after 8 s", nodes: 1, inject: killed},
	{description: "network partition of %[1]s, the leader, for 10 s", nodes: 1, inject: partitioned},
	{description: "%[1]s, the leader, is suspended for 10 s", nodes: 1, inject: suspended},
	{description: "power failure of %[1]s, the leader, for 5 s", nodes: 1, disk: true, inject: simulatePowerFailure},
	{description: "one-way partition for 10 s: %[1]s, the leader, sends nothing", nodes: 1, inject: partitionedOutbound},
	{description: "one-way partition for 10 s: %[1]s, the leader, receives nothing", nodes: 1, inject: partitionedInbound},
	{description: "%[1]s is lost and replaced by a new node", nodes: 1, follower: true, inject: replaced},
	{description: "the disk of %[1]s, the leader, is full for 10 s, followed by a restart", nodes: 1, disk: true,
		inject: diskFull},
	{description: "network partition of %[1]s for 10 s", nodes: 1, follower: true, inject: partitioned},
	{description: "%[1]s is suspended for 10 s", nodes: 1, follower: true, inject: suspended},
	{description: "%[1]s, the leader, is stopped, and restarted after 8 s without the indexes of its streams", nodes: 1,
		inject: withoutIndexes},
	{description: "SIGKILL of %[2]s during a network partition of %[1]s, the leader", nodes: 2,
		inject: both(partitioned, killed)},
	{description: "%[2]s is suspended during a one-way partition: %[1]s, the leader, receives nothing", nodes: 2,
		inject: both(partitionedInbound, suspended)},
	{description: "the clock of %[1]s, the leader, is 11 s ahead for 10 s", nodes: 1, clock: true, skew: clockStep,
		inject: clockStepped},
	{description: "the clock of %[1]s is 11 s ahead for 10 s", nodes: 1, follower: true, clock: true, skew: clockStep,
		inject: clockStepped},
	{description: "a worker of tags at %[1]s, for 10 s, has a clock that is 1 h ahead", nodes: 1, follower: true,
		clock: true, inject: workerWithWrongClock},
	{description: "power failure of all nodes for 5 s", nodes: nodes, disk: true, inject: simulatePowerFailure},
}

// choose returns the nodes of a fault.
func (k kind) choose(ctx context.Context, c *cluster) []int {
	list := rand.Perm(nodes)
	if !k.follower {
		first := c.lead(ctx)
		position := slices.Index(list, first)
		list[0], list[position] = list[position], list[0]
	}
	return list[:k.nodes]
}

// both injects a fault into the first node and, 2 s later, another one into the second.
func both(first, second func(context.Context, *cluster, []int) error) func(context.Context, *cluster, []int) error {
	return func(ctx context.Context, c *cluster, nodes []int) error {
		var running sync.WaitGroup
		var err error
		running.Go(func() {
			sleep(ctx, 2*time.Second)
			err = second(ctx, c, nodes[1:])
		})
		failed := first(ctx, c, nodes[:1])
		running.Wait()
		return errors.Join(failed, err)
	}
}

func killed(ctx context.Context, c *cluster, nodes []int) error {
	c.procs[nodes[0]].kill()
	sleep(ctx, 8*time.Second)
	return c.run(nodes[0])
}

func withoutIndexes(ctx context.Context, c *cluster, nodes []int) error {
	if _, err := c.crash(nodes[0], 0); err != nil {
		return err
	}
	sleep(ctx, 8*time.Second)
	return c.run(nodes[0])
}

func suspended(ctx context.Context, c *cluster, nodes []int) error {
	if err := c.procs[nodes[0]].suspend(); err != nil {
		return err
	}
	sleep(ctx, faultTime)
	return c.procs[nodes[0]].resume()
}

func replaced(ctx context.Context, c *cluster, nodes []int) error {
	c.procs[nodes[0]].kill()
	return c.replace(ctx, nodes[0])
}

func partitioned(ctx context.Context, c *cluster, nodes []int) error {
	c.cutOutbound(nodes[0])
	return partitionedInbound(ctx, c, nodes)
}

// partitionedOutbound cuts the traffic from the node to the others.
func partitionedOutbound(ctx context.Context, c *cluster, nodes []int) error {
	c.cutOutbound(nodes[0])
	sleep(ctx, faultTime)
	c.heal()
	return nil
}

// partitionedInbound cuts the traffic from the others to the node.
func partitionedInbound(ctx context.Context, c *cluster, nodes []int) error {
	c.cutInbound(nodes[0])
	sleep(ctx, faultTime)
	c.heal()
	return nil
}

// mayLose reports whether the run may be lost: if a majority of the nodes, which store its
// events in memory, failed during the run.
func (f Fault) mayLose(r Analysis) bool {
	return f.Majority && f.At < r.Ended && r.Began < f.Healthy
}

// skewed returns the operations with the Skew of the fault set on the creation of each tag that may
// have expired during the fault, or within Skew after it.
func (f Fault) skewed(tags []Operation) []Operation {
	for i, o := range tags {
		if o.TTL > 0 && o.Call < f.Ended+f.Skew && f.At < o.Returned+o.TTL+expiryDelay {
			tags[i].Skew = max(o.Skew, f.Skew)
		}
	}
	return tags
}
