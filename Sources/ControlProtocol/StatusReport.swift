/// What the agent knows at one moment, as `roamward status --json` prints it.
package struct StatusReport: Hashable, Sendable {
  package struct Problem: Hashable, Sendable {
    package var file: String
    package var line: Int
    package var column: Int
    package var severity: String
    package var message: String

    package init(file: String, line: Int, column: Int, severity: String, message: String) {
      self.file = file
      self.line = line
      self.column = column
      self.severity = severity
      self.message = message
    }
  }

  /// `nil` fields: no network, not on Wi-Fi, not known.
  package struct Primary: Hashable, Sendable {
    package var link: String?
    package var type: String?
    package var ssid: String?
    /// What stands for the network in each family (`NetworkIdentity.digest`).
    package var network4: String?
    package var network6: String?

    package init(link: String?, type: String?, ssid: String?, network4: String? = nil, network6: String? = nil) {
      self.link = link
      self.type = type
      self.ssid = ssid
      self.network4 = network4
      self.network6 = network6
    }
  }

  /// What the agent has done since it started.
  package struct Counters: Hashable, Sendable {
    /// Announcements of the kernel that reached it; those that its filter dropped are not counted, by anybody.
    package var events = 0
    /// How often announcements were lost, and everything was read anew.
    package var overflows = 0
    /// Looks at the machine; a `status` makes one.
    package var observations = 0
    /// How often the rules were judged.
    package var evaluations = 0
    /// How often what is was compared with what should be.
    package var plans = 0
    /// Steps that changed the machine.
    package var steps = 0
    /// How often a WireGuard device alone was asked whether its peer has answered.
    package var polls = 0
    /// Steps that repaired what another program had changed.
    package var repairs = 0

    package init(
      events: Int = 0, overflows: Int = 0, observations: Int = 0, evaluations: Int = 0, plans: Int = 0, steps: Int = 0, repairs: Int = 0
    ) {
      self.events = events
      self.overflows = overflows
      self.observations = observations
      self.evaluations = evaluations
      self.plans = plans
      self.steps = steps
      self.repairs = repairs
    }
  }

  /// By which way name servers are set on this host, and why not by the others.
  package struct Resolver: Hashable, Sendable {
    package struct Candidate: Hashable, Sendable {
      package var backend: String
      package var isChosen: Bool
      package var because: String

      package init(backend: String, isChosen: Bool, because: String) {
        self.backend = backend
        self.isChosen = isChosen
        self.because = because
      }
    }

    /// `systemd-resolved`, `resolvconf`, `openresolv`, `file` or `none`.
    package var backend: String
    package var because: String
    /// Some names can go to some servers, and the others elsewhere.
    package var splits: Bool
    /// Domains whose names are asked nowhere, because their tunnel is not up.
    package var refused: [String] = []
    package var candidates: [Candidate]

    package init(backend: String, because: String, splits: Bool, candidates: [Candidate]) {
      self.backend = backend
      self.because = because
      self.splits = splits
      self.candidates = candidates
    }
  }

  package struct Rule: Hashable, Sendable {
    package var index: Int
    package var name: String?
    package var file: String
    package var line: Int

    package init(index: Int, name: String?, file: String, line: Int) {
      self.index = index
      self.name = name
      self.file = file
      self.line = line
    }
  }

  /// Why the agent woke, or will wake by itself.
  package struct Wake: Hashable, Sendable {
    /// Such as `network-event`, `tunnel` or `sample`; docs/operations.md lists them.
    package var reason: String
    package var tunnel: String?
    /// Seconds since 1970.
    package var at: Int64

    package init(reason: String, tunnel: String?, at: Int64) {
      self.reason = reason
      self.tunnel = tunnel
      self.at = at
    }
  }

  /// Something that will happen by itself, unless something else happens before.
  package struct Timer: Hashable, Sendable {
    /// `settle`, `decide`, `release`, `hold-end`, `give-up`, `retry` or `restart`.
    package var what: String
    /// Seconds since 1970.
    package var at: Int64

    package init(what: String, at: Int64) {
      self.what = what
      self.at = at
    }
  }

  /// A question that was put to the network.
  package struct Probe: Hashable, Sendable {
    package var name: String
    /// `ok`, `fail` or `unknown`; of a captive portal also `open` or `closed`.
    package var answer: String
    package var because: String
    /// Seconds since 1970.
    package var answeredAt: Int64?
    /// When it is asked again though nothing happens, in seconds since 1970.
    package var nextAt: Int64?
    /// Whether a decision hangs on it now.
    package var isWanted: Bool

    package init(name: String, answer: String, because: String, answeredAt: Int64?, nextAt: Int64?, isWanted: Bool) {
      self.name = name
      self.answer = answer
      self.because = because
      self.answeredAt = answeredAt
      self.nextAt = nextAt
      self.isWanted = isWanted
    }
  }

  package struct Tunnel: Hashable, Sendable {
    package var name: String
    /// `disconnected`, `connecting`, `connected`, `reasserting` or `disconnecting`.
    package var state: String
    /// Seconds since 1970 at which the state was entered.
    package var since: Int64
    package var isEnabled: Bool
    /// What the rules say, whatever a hold says: `connect`, `disconnect`, `ignore` or `pending`.
    package var decision: String
    package var rule: Rule?
    /// Why it is as it is, in a line.
    package var because: String
    /// `up` or `down`.
    package var hold: String?
    package var holdSince: Int64?
    /// When it ends, in words: `when the network changes`.
    package var holdEnds: String?
    /// When it ends by the clock, in seconds since 1970.
    package var holdUntil: Int64?
    package var holdReason: String?
    /// How it ends: `network`, `time` or `resume`.
    package var holdLifetime: String?
    /// Rules or a person have wanted it up, and nothing has wanted it down since.
    package var isWanted = false
    /// The routing table that is its own while it is anything but down.
    package var table: UInt32?
    /// What will happen by itself, the next first.
    package var timers: [Timer]
    package var link: String?
    package var engine: String?
    package var endpoint: String?
    package var lastHandshake: Int64?
    package var receivedBytes: Int64?
    package var sentBytes: Int64?
    /// Why the last attempt failed.
    package var failure: String?
    /// The codes of `because` and `failure` (`ReasonCode`).
    package var code: String?
    package var failureCode: String?
    package var notes: [String]
    /// Attached prefixes that stay outside the tunnel though it includes them, each with its reason.
    package var outside: [String] = []
    /// For how many seconds nothing has been received, though data was sent; `nil` while the peer is not known to be silent.
    package var peerSilence: Int64?

    package init(
      name: String, state: String, since: Int64, isEnabled: Bool, decision: String, rule: Rule?, because: String, hold: String? = nil,
      holdSince: Int64? = nil, holdEnds: String? = nil, holdUntil: Int64? = nil,
      holdReason: String? = nil, timers: [Timer] = [], link: String? = nil, engine: String? = nil,
      endpoint: String? = nil,
      lastHandshake: Int64? = nil,
      receivedBytes: Int64? = nil, sentBytes: Int64? = nil, failure: String? = nil, notes: [String] = []
    ) {
      self.name = name
      self.state = state
      self.since = since
      self.isEnabled = isEnabled
      self.decision = decision
      self.rule = rule
      self.because = because
      self.hold = hold
      self.holdSince = holdSince
      self.holdEnds = holdEnds
      self.holdUntil = holdUntil
      self.holdReason = holdReason
      self.timers = timers
      self.link = link
      self.engine = engine
      self.endpoint = endpoint
      self.lastHandshake = lastHandshake
      self.receivedBytes = receivedBytes
      self.sentBytes = sentBytes
      self.failure = failure
      self.notes = notes
    }
  }

  /// Seconds since 1970 at which the report was made.
  package var time: Int64
  package var process: Int
  /// Counts the policy sets that took force since the agent started.
  package var generation: Int
  package var policyFiles: Int
  /// The policies have not been read yet: the agent still ends what another has left. No tunnel is known meanwhile.
  package var isStarting: Bool { generation == 0 && problems.isEmpty }
  /// With an error among them, what was good last is in force.
  package var problems: [Problem]
  /// What that is.
  package var standIns: [StandIn] = []
  package var primary: Primary
  package var firewall: FirewallStatus
  package var tunnels: [Tunnel]
  package var probes: [Probe]
  /// What could not be done as wanted.
  package var notes: [String]
  /// Other VPNs of the machine, and what they route.
  package var others: [String] = []
  package var counters: Counters
  /// `nil`: no tunnel brings name servers, and nobody was asked.
  package var resolver: Resolver?
  /// Until when the policies on trial may be confirmed, in seconds since 1970; `nil`: none are on trial.
  package var trialUntil: Int64?
  /// Why the agent last did something; `nil` from an older agent.
  package var lastWake: Wake?
  /// The first thing that it waits for though nothing happens.
  package var nextWake: Wake?

  package init(
    time: Int64, process: Int, generation: Int, policyFiles: Int, problems: [Problem], primary: Primary,
    firewall: FirewallStatus = FirewallStatus(), tunnels: [Tunnel], probes: [Probe] = [], notes: [String], counters: Counters = Counters(),
    resolver: Resolver? = nil
  ) {
    self.resolver = resolver
    self.counters = counters
    self.time = time
    self.process = process
    self.generation = generation
    self.policyFiles = policyFiles
    self.problems = problems
    self.primary = primary
    self.firewall = firewall
    self.tunnels = tunnels
    self.probes = probes
    self.notes = notes
  }
}
