package quota

import "time"

// A Figure is a service limit: what is left under a policy, and the window
// within which no more than that may be used (the draft, Section 3.1).
type Figure struct {
	Policy    string
	Key       string // the bytes of the partition key, where Keyed
	Keyed     bool
	Available int64         // units; negative: the server gave a window and no figure
	Window    time.Duration // 0: over now; negative: none, the figure stands until the next
	Cost      int64         // what the work cost, in units; 0 or less: what it was charged

	// Full is the time until the whole quota is there, of a quota that comes back unit by
	// unit, all the time (a bucket). Window is then the time until one more unit is. 0: all
	// of it is there, or the quota is not known to come back so.
	Full time.Duration

	// Resets is the end of the window by the clock of the server, if the server sent
	// it as an instant. The zero Time means that it sent a time span, or none. See
	// Report.Date.
	Resets time.Time

	// Seen is set by Settle: what the work seems to have cost, in a unit such as tokens, by
	// the fall of the figures; after a refusal, what it costs at least. 0: that is not known.
	Seen int64
}

// A Report is what an answer says. All of it concerns the origin and the scope of
// the lease that it settles, unless Scope names another.
type Report struct {
	Refused bool          // the server refused to serve for lack of quota
	Terms   []Policy      // policies as they were advertised, each at most once for a key
	Figures []Figure      // service limits, each at most once for a policy and key
	Pause   time.Duration // Retry-After; 0: none; negative: it is 0 or in the past: a refusal is followed by a back-off, whatever its windows say
	Wait    time.Duration // after a refusal without a Pause: how long to back off at least, twice as long after each in a row; 0: a second
	Failed  bool          // the server could not serve, for other reasons than quota: a hold of the origin goes on
	Unsure  bool          // the answer does not show that the work was served and counted: see Strategy, habit 7. If it is Refused, only figures of 0 say so: Settle sets Refused to false if nothing explains them
	Date    time.Time     // of the answer, by the clock of Figure.Resets; zero: not known

	// Lost says that no answer came, or that its meaning is not known yet (see
	// Origin.Refuse): the work counts as a request that arrived. Unsent says that the
	// request never left, or that the server did not count it: it costs nothing. Unsent
	// wins. Without both an answer came, and says what the report says.
	Lost, Unsent bool

	// WholeOrigin says that the pause, or the back-off after a refusal without one,
	// concerns the whole origin. Else it concerns the accounts that the report names;
	// the scope, if it names none. A pause of the whole origin may turn out to concern some kinds of work only: see Strategy.
	WholeOrigin bool

	// LeftOut are policies that turn out not to concern the work, and perhaps not
	// other work of the scope. What the work was charged under them is given back,
	// and work that waits for one of them makes its Claims again.
	LeftOut []string

	// Scope is the scope that the answer concerns, if that shows only now: the accounts of it
	// take over what the report says, and not those of the lease's scope. "": the lease's; "\x00": the scope "".
	Scope string

	// Moved are policies that may concern other work than before, or in another
	// account. Work that waits for one of them makes its Claims again.
	Moved []string

	// Changes, if not nil, is where Settle appends what the answer has changed, for
	// people to see. Nil costs nothing.
	Changes *[]Change
}

// answered reports whether an answer came.
func (r *Report) answered() bool { return !r.Lost && !r.Unsent }

// says reports whether there is anything in the report but that an answer came.
func (r *Report) says() bool {
	return !r.answered() || r.Refused || r.Failed || r.Pause > 0 ||
		len(r.Figures)+len(r.Terms)+len(r.LeftOut)+len(r.Moved) > 0
}
