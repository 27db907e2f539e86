package bucket

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
)

// lossKey is the metadata key of a stream with its Loss.
const lossKey = "cairn-loss"

// Loss describes messages that a bucket has lost, such as those after a damaged part of a file, which the NATS
// server truncates. It is stored in the metadata of the stream until the next loss.
type Loss struct {
	Bucket   string    `json:"bucket"`   // ID of the bucket before
	Time     time.Time `json:"time"`     // of the detection
	Messages uint64    `json:"messages"` // an estimate
	Bytes    uint64    `json:"bytes"`    // reported by the server; 0: none
	Server   string    `json:"server"`   // with the damaged file
	Accepted bool      `json:"accepted"` // by an operator
}

// LossOf returns the last loss of the bucket, and whether an operator has to accept it.
func LossOf(info *jetstream.StreamInfo) (loss Loss, open bool) {
	err := json.Unmarshal([]byte(info.Config.Metadata[lossKey]), &loss)
	return loss, err == nil && !loss.Accepted
}

// MarkLoss logs a loss and stores it in the metadata of the stream s. The bucket gets another ID, because the
// next messages get the sequences of lost ones.
func MarkLoss(ctx context.Context, js jetstream.JetStream, s jetstream.Stream, loss Loss) (jetstream.Stream, error) {
	info := s.CachedInfo()
	slog.Error("messages are lost: a file of the NATS server is damaged or missing", "stream", info.Config.Name,
		"messages", loss.Messages, "bytes", loss.Bytes, "last_sequence", info.State.LastSeq)
	loss.Bucket, loss.Time = ID(info), info.TimeStamp
	if earlier, open := LossOf(info); open {
		loss.Bucket, loss.Time, loss.Messages = earlier.Bucket, earlier.Time, earlier.Messages+loss.Messages
	}
	c := info.Config
	Identify(&c)
	marked, err := storeLoss(ctx, js, c, loss)
	if Full(err) { // the streams reserve more than the server has, so that it changes none
		slog.Error("the loss cannot be stored in the stream", "stream", info.Config.Name, "err", err)
		return s, nil
	}
	return marked, err
}

// AcceptLoss records that an operator has accepted the loss.
func AcceptLoss(ctx context.Context, js jetstream.JetStream, s jetstream.Stream) error {
	loss, open := LossOf(s.CachedInfo())
	if !open {
		return nil
	}
	loss.Accepted = true
	_, err := storeLoss(ctx, js, s.CachedInfo().Config, loss)
	return err
}

func storeLoss(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig,
	loss Loss) (jetstream.Stream, error) {
	encoded, err := json.Marshal(loss)
	if err != nil {
		return nil, err
	}
	c.Metadata[lossKey] = string(encoded)
	return js.UpdateStream(ctx, c)
}

// maxDeleted is the number of deleted messages of a stream above which MarkReported does not read its loss, because
// the server lists them in the same reply of about 8 bytes for each.
const maxDeleted = 4_000_000

// MarkReported calls MarkLoss if the server reports a loss that is not stored yet, and returns the stream. The
// server reports losses since its start, and verifies a file when it reads it. Reports about a replicated stream are
// ignored: they concern one replica.
func MarkReported(ctx context.Context, js jetstream.JetStream, s jetstream.Stream) (jetstream.Stream, error) {
	info := s.CachedInfo()
	durable := info.Config.Storage == jetstream.FileStorage && info.Config.Discard == jetstream.DiscardNew
	if !durable || info.Config.Replicas > 1 {
		return s, nil
	}
	if info.State.NumDeleted > maxDeleted {
		slog.Warn("a loss of messages would not be detected: too many were deleted", "stream", info.Config.Name)
		return s, nil
	}
	info, err := s.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil || info.State.Lost == nil {
		return s, err
	}
	loss := Loss{Bytes: info.State.Lost.Bytes, Messages: uint64(len(info.State.Lost.Msgs)), Server: serverOf(js, info)}
	if loss.Messages == 0 && info.State.Bytes > 0 {
		loss.Messages = max(1, loss.Bytes*info.State.Msgs/info.State.Bytes)
	}
	if stored, _ := LossOf(info); loss.Bytes == stored.Bytes && loss.Server == stored.Server {
		return s, nil
	}
	return MarkLoss(ctx, js, s, loss)
}

// serverOf identifies the server that stores the stream, and the run of a stand-alone one.
func serverOf(js jetstream.JetStream, info *jetstream.StreamInfo) string {
	if info.Cluster != nil && js.Conn().ConnectedClusterName() != "" {
		return info.Cluster.Leader
	}
	return js.Conn().ConnectedServerId()
}

// lossProblem describes a loss that no operator has accepted.
func lossProblem(info *jetstream.StreamInfo) []string {
	loss, open := LossOf(info)
	if !open {
		return nil
	}
	return []string{fmt.Sprintf("bucket %s has lost messages: about %d, as of %s", nameOf(info), loss.Messages,
		loss.Time.UTC().Format(time.RFC3339))}
}
