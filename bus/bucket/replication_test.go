package bucket_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

func TestReplicaProblems(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		replica jetstream.PeerInfo
		want    string // empty: none
	}{
		"current":                          {jetstream.PeerInfo{Current: true, Active: time.Millisecond}, ""},
		"an operation behind for a moment": {jetstream.PeerInfo{Lag: 1, Active: time.Millisecond}, ""},
		"some operations behind":           {jetstream.PeerInfo{Lag: 1000, Active: time.Second}, ""},
		"many operations behind":           {jetstream.PeerInfo{Lag: 1001, Active: time.Millisecond}, "is behind"},
		"not seen for 6 s":                 {jetstream.PeerInfo{Lag: 1, Active: 6 * time.Second}, "is behind"},
		"not seen since the election":      {jetstream.PeerInfo{Lag: 1}, "has not been seen"},
		"offline":                          {jetstream.PeerInfo{Offline: true}, "is offline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.replica.Name = "b"
			got := strings.Join(bucket.ReplicaProblems(&jetstream.StreamInfo{
				Config:  jetstream.StreamConfig{Name: "s", Replicas: 2},
				Cluster: &jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{&row.replica}},
			}), "; ")
			if row.want == "" && got != "" || !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
