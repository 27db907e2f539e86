package offline_test

import (
	"testing"

	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/offline"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	modeltest.Converse(t, offline.New(nil))
}
