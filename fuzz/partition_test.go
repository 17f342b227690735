package fuzz

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
)

// FuzzPartition reads declarations and computes the keys of a request.
func FuzzPartition(f *testing.F) {
	for _, form := range forms {
		f.Add(form, "GET", "alice", "app")
	}
	f.Add(`"api";user_id;method`, "", "alice", "")
	f.Add(`"api";user_id;method, "api";method`, "get", "al\x1fice", "\xff")
	f.Fuzz(func(t *testing.T, text, method, user, client string) {
		declarations, ignored := parse.Declarations(of("Ratelimit-Partition", lines(text)), caps)
		checkIgnored(t, ignored)
		if len(joined(text)[0]) <= caps.FieldBytes {
			again, _ := parse.Declarations(of("Ratelimit-Partition", joined(text)), caps)
			require.Equal(t, declarations, again, "joined and split field lines agree")
		}
		if len(declarations) == 0 {
			return
		}
		require.True(t, strictList(lines(text)...), "accepted a field that is not a List")

		ctx := partition.WithClientID(partition.WithUserID(t.Context(), user), client)
		req := (&http.Request{Method: method, Header: http.Header{}}).WithContext(ctx)
		for _, d := range declarations {
			checkKey(t, d, req)
		}
		if value, err := parse.FormatDeclarations(declarations); err == nil {
			again, ignored := parse.Declarations(of("Ratelimit-Partition", []string{value}), unbounded)
			require.Equal(t, declarations, again, "written as %q", value)
			require.Empty(t, ignored)
		}
	})
}

// checkKey checks a key against Section 4.2 of the editor's draft.
func checkKey(t *testing.T, d parse.Declaration, req *http.Request) {
	t.Helper()
	key, answer := partition.Dimensions(nil).Key(d, req)
	again, same := partition.Dimensions(nil).Key(d, req)
	require.Equal(t, string(key), string(again))
	require.Equal(t, answer, same)
	if answer != partition.Known {
		require.Empty(t, string(key))
		return
	}
	for _, dim := range d.Dimensions {
		require.True(t, dim.Varies || dim.IsLiteral)
	}
	require.Equal(t, max(len(d.Dimensions)-1, 0), strings.Count(string(key), "\x1f"))
}
