package wizard

import (
	"context"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/cli"
	"github.com/kortecx/kx/internal/workers"
)

// step is one screen of the wizard, in the order in which they come.
type step int

const (
	welcome step = iota
	choose
	review
	security
	where
	confirm
	install
	verify
	finish
	steps
)

var stepTitles = [steps]string{"Welcome", "Choose", "Review", "Security", "Where", "Confirm", "Install", "Verify", "Done"}

// How long the wizard waits before it does something of itself.
const (
	pauseInTyping = 150 * time.Millisecond
	waitingTick   = time.Second
	progressTick  = 80 * time.Millisecond
)

// model is the program on the whole terminal. Update changes it by one message, View
// draws it; what takes time runs in commands.
type model struct {
	*flow
	ctx   context.Context
	theme *theme
	// after sends a message later.
	after func(time.Duration, tea.Msg) tea.Cmd

	width, height int
	step          step
	scroll        int
	helping       bool   // the keys are shown
	beneath       int    // how far what is below them was scrolled
	notice        string // why the last key did nothing, or what it did
	trouble       error  // of the last thing that was tried on this screen

	// What runs now, and how long already. Answers to an older number are dropped.
	running int
	busy    string
	waited  int
	heard   *hearing
	cancel  context.CancelFunc
	apart   workers.Group // what runs beside the screen

	query     input
	searched  string // the text that page is the answer to
	page      *cli.WizardPage
	searchErr error
	searches  int
	searching bool
	stopFind  context.CancelFunc
	at        int // in the list of choose

	tab   int  // the skill that review and security show
	raw   bool // instructions are shown as they were written
	drawn drawn

	whereAt    int
	allAgents  bool // those that are not here are listed too
	filter     string
	folder     input
	typing     bool // the folder is being typed
	folders    cli.WizardFolders
	foldersErr error
	asked      int // for folders

	no       bool // confirm stands on "no"
	progress *progress
	writing  *writing // the installation that runs or ran; nil before one
	stopping bool

	left bool
	err  error
}

// writing is an installation, which is waited for whatever ends the program.
type writing struct {
	ended chan struct{}
	done  *cli.WizardResult // once ended
}

// hearing is what is waited for, as far as that was said.
type hearing struct {
	mu   sync.Mutex
	last string
}

func (h *hearing) hear(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = text
}

func (h *hearing) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// progress is what an installation tells while it runs.
type progress struct {
	mu   sync.Mutex
	last cli.WizardEvent
	log  []cli.WizardEvent
}

func (p *progress) tell(e cli.WizardEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = e
	if e.Ref != "" {
		p.log = append(p.log, e)
	}
}

func (p *progress) seen() (cli.WizardEvent, []cli.WizardEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, append([]cli.WizardEvent(nil), p.log...)
}

func newModel(ctx context.Context, f *flow, t *theme) *model {
	return &model{
		flow: f, ctx: ctx, theme: t, width: 80, height: 24, progress: &progress{}, heard: &hearing{},
		after: func(d time.Duration, msg tea.Msg) tea.Cmd {
			return tea.Tick(d, func(time.Time) tea.Msg { return msg })
		},
	}
}

// Messages. The number tells whether an answer is still waited for.
type (
	answered struct {
		running int
		value   any
		err     error
	}
	waitedMsg struct{ running int }
	typedMsg  struct{ search int }
	sinceMsg  struct{ search int }
	foundMsg  struct {
		search int
		text   string
		page   *cli.WizardPage
		err    error
	}
	foldersMsg struct {
		asked   int
		folders cli.WizardFolders
		err     error
	}
	progressMsg struct{ running int }
)

// Answers that commands give.
type (
	lookedAt  struct{ page *cli.WizardPage }
	fetched   struct{ skill *cli.WizardSkill }
	agentList []cli.WizardAgent
	planned   *cli.WizardPlan
	carried   *cli.WizardResult
	readBack  struct{}
)

func (m *model) Init() tea.Cmd {
	if len(m.chosen) > 0 {
		return m.load()
	}
	return nil
}

// begin runs something that takes time. There is one such thing at a time; a new one
// ends the one before.
func (m *model) begin(what string, do func(context.Context) (any, error)) tea.Cmd {
	m.stop()
	ctx, cancel := context.WithCancel(m.ctx)
	m.running++
	m.busy, m.waited, m.cancel = what, 0, cancel
	m.heard.hear("")
	m.trouble, m.notice = nil, ""
	running := m.running
	return tea.Batch(m.beside(func() tea.Msg {
		value, err := do(ctx)
		return answered{running, value, err}
	}), m.after(waitingTick, waitedMsg{running}))
}

// beside runs something while the screen goes on. Its panic ends the screen and goes on in
// onScreen: the library that draws would print a trace, to standard output.
func (m *model) beside(do func() tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		if !m.apart.Try(func() { msg = do() }) {
			return tea.Quit()
		}
		return msg
	}
}

func (m *model) stop() {
	if m.cancel != nil {
		m.cancel()
		m.cancel = nil
	}
	m.busy = ""
	m.running++
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.clampScroll()
	case tea.KeyMsg:
		return m, m.key(msg)
	case answered:
		if msg.running == m.running {
			m.busy, m.cancel = "", nil
			return m, m.take(msg.value, msg.err)
		}
	case waitedMsg:
		if msg.running == m.running && m.busy != "" {
			m.waited++
			return m, m.after(waitingTick, msg)
		}
	case typedMsg:
		if msg.search == m.searches {
			return m, m.search()
		}
	case sinceMsg:
		if msg.search == m.searches && m.searching {
			m.waited++
			return m, m.after(waitingTick, msg)
		}
	case foundMsg:
		if msg.search == m.searches {
			m.searching, m.searched, m.notice = false, msg.text, ""
			m.page, m.searchErr, m.at = msg.page, msg.err, 0
		}
	case foldersMsg:
		if msg.asked == m.asked {
			m.folders, m.foldersErr = msg.folders, msg.err
		}
	case progressMsg:
		if msg.running == m.running && m.busy != "" {
			return m, m.after(progressTick, msg)
		}
	}
	return m, nil
}

// take goes on with what a command answered.
func (m *model) take(value any, err error) tea.Cmd {
	switch value := value.(type) {
	case lookedAt:
		m.trouble = err
		if err == nil {
			m.page, m.searched, m.at, m.searchErr = value.page, m.query.text, 0, nil
		}
	case fetched:
		if ref, ok := m.nextToLoad(); ok {
			m.loaded[ref] = loaded{value.skill, err}
		}
		return m.load()
	case agentList:
		m.trouble = err
		m.detected(value)
		m.allAgents = len(m.listed()) == 0
		m.show(where)
		return m.askFolders()
	case planned:
		m.trouble = err
		if m.plan = value; err == nil {
			m.no = false
			m.show(confirm)
		}
	case carried:
		m.done = value
		return m.installed(err)
	case readBack:
		m.show(finish)
		if m.err = err; err == nil {
			m.err = failed(m.done)
		}
	}
	return nil
}

// show goes to a screen.
func (m *model) show(s step) {
	m.step, m.scroll, m.notice, m.helping = s, 0, "", false
}

// search asks the hub for what is typed.
func (m *model) search() tea.Cmd {
	if m.stopFind != nil {
		m.stopFind()
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.searches++
	m.stopFind, m.searching = cancel, true
	search, text := m.searches, m.query.text
	m.waited = 0
	m.heard.hear("")
	return tea.Batch(m.beside(func() tea.Msg {
		page, err := m.back.Search(ctx, text)
		return foundMsg{search, text, page, err}
	}), m.after(waitingTick, sinceMsg{search}))
}

// load fetches the chosen skills one by one, then shows them.
func (m *model) load() tea.Cmd {
	ref, more := m.nextToLoad()
	if !more {
		m.tab = 0
		m.show(review)
		return nil
	}
	m.step = choose
	return m.begin("Fetching "+clean(ref)+" and judging it", func(ctx context.Context) (any, error) {
		skill, err := m.back.Load(ctx, ref)
		return fetched{skill}, err
	})
}

func (m *model) findAgents() tea.Cmd {
	if m.agents != nil {
		m.show(where)
		return m.askFolders()
	}
	return m.begin("Looking for agents", func(context.Context) (any, error) {
		agents, err := m.back.Agents()
		return agentList(agents), err
	})
}

// askFolders finds out where the present choice leads.
func (m *model) askFolders() tea.Cmd {
	m.asked++
	m.folders, m.foldersErr = cli.WizardFolders{}, m.complete()
	asked, to := m.asked, m.where
	if m.foldersErr != nil {
		return nil
	}
	return m.beside(func() tea.Msg {
		folders, err := m.back.Folders(to)
		return foldersMsg{asked, folders, err}
	})
}

func (m *model) makePlan() tea.Cmd {
	if err := m.complete(); err != nil {
		m.notice = err.Error()
		return nil
	}
	skills, to, accept := m.skills(), m.where, m.allowing()
	return m.begin("Comparing with what is on disk", func(ctx context.Context) (any, error) {
		plan, err := m.back.Plan(ctx, skills, to, accept)
		return planned(plan), err
	})
}

// start installs. From here on the disk changes.
func (m *model) start() tea.Cmd {
	plan := m.plan
	m.show(install)
	m.progress = &progress{}
	w := &writing{ended: make(chan struct{})}
	m.writing = w
	run := m.begin("Installing", func(ctx context.Context) (any, error) {
		defer close(w.ended)
		done, err := m.back.Install(ctx, plan, m.progress.tell)
		w.done = done
		return carried(done), err
	})
	return tea.Batch(run, m.after(progressTick, progressMsg{m.running}))
}

// installed goes on behind an installation, also one that was stopped or failed.
func (m *model) installed(err error) tea.Cmd {
	if m.stopping {
		m.err = leftAfter(m.done, len(m.plan.Writes))
		m.left = true
		return tea.Quit
	}
	if err != nil {
		m.err = err
		m.show(finish)
		return nil
	}
	m.show(verify)
	done := m.done
	return m.begin("Reading back what was written", func(ctx context.Context) (any, error) {
		return readBack{}, m.back.Verify(ctx, done)
	})
}

// leave ends the program.
func (m *model) leave() tea.Cmd {
	if m.step == install && m.busy != "" {
		// The command's answer says what is on disk; nothing is left half done.
		m.stopping = true
		if m.cancel != nil {
			m.cancel()
		}
		return nil
	}
	m.left = true
	if m.step != finish {
		m.err = errLeft()
		if m.done != nil {
			m.err = leftAfter(m.done, len(m.plan.Writes))
		}
	}
	m.stop()
	return tea.Quit
}

// result is what the run came to.
func (m *model) result() (*cli.WizardResult, error) {
	if m.done == nil && m.err == nil {
		return nil, hubapi.Errorf(hubapi.Interrupted, "interrupted; nothing was installed")
	}
	return m.done, m.err
}
