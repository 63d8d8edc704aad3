internal import JSON
package import NetworkTypes
package import RoamwardCore

extension StatusReport {
  /// One tunnel: its state, and the reason.
  package struct Tunnel: Hashable, Sendable, Codable {
    package var name: String
    /// `disconnected`, `connecting`, `armed`, `connected`, `reasserting` or `disconnecting`.
    package var state: String
    /// When the state was entered.
    package var since: Timestamp
    package var isEnabled: Bool
    /// The name of the user that it belongs to.
    package var owner: String?
    /// The decision of the rules, ignoring a manual override.
    package var decision: Decision.Outcome
    package var rule: RuleReport?
    /// The reason for the state, in one line.
    package var reason: String
    /// The code of `reason`.
    package var code: ReasonCode
    /// The manual override: `up` or `down`.
    package var override: String?
    package var overrideSince: Timestamp?
    /// The end of the override, in words: `when the network changes`.
    package var overrideEnds: String?
    /// The end of the override by the wall clock.
    package var overrideUntil: Timestamp?
    package var overrideReason: String?
    /// The kind of lifetime of the override.
    package var overrideLifetime: Lifetime.Word?
    /// Whether rules or a person have wanted it up, and nothing has wanted it down since.
    package var isWanted: Bool
    /// The tunnel's own routing table while it is not down.
    package var table: UInt32?
    /// The tunnel that carries its own packets.
    package var through: String?
    /// The pending timers, the next first.
    package var timers: [Timer]
    package var link: String?
    /// The MTU of the link in bytes, as the kernel has it.
    package var mtu: UInt32?
    /// The addresses of the link, as the kernel has them, without IPv6 link-local ones.
    package var addresses: [String] = []
    /// The prefixes that the kernel routes into the tunnel, at most `longestList`.
    package var routes: [String] = []
    /// The number of prefixes that the kernel routes into the tunnel.
    package var routeCount = 0
    /// The name servers that the tunnel brings while it is up.
    package var nameServers: [String] = []
    /// The domains whose names they resolve, at most `longestList`; empty: all names.
    package var domains: [String] = []
    package var engine: String?
    /// The library that encrypts its packets, and its version.
    package var cipher: String?
    package var endpoint: String?
    /// The last handshake, in whole seconds.
    package var lastHandshake: Timestamp?
    package var receivedBytes: Int64?
    package var sentBytes: Int64?
    /// The reason why the last attempt failed.
    package var failure: String?
    /// The code of `failure`.
    package var failureCode: ReasonCode?
    package var notes: [RemarkReport]
    /// Attached prefixes that stay outside the tunnel though it includes them.
    package var outside: [Outside]
    /// Milliseconds since anything was received, though data was sent; `nil` while the peer is not known to be silent.
    package var peerSilenceMilliseconds: Int64?
    /// The look-up that started it, and keeps it up until it is idle.
    package var lookup: Lookup?
    /// The memory and processor time that its programs use; `nil`: none runs, or it is not known.
    package var usage: Usage?
    /// Its provider, while it is anything but down.
    package var provider: Provider?
    /// The settings that its provider has brought.
    package var brought: Brought?
    /// The open questions of its provider to a person, the oldest first.
    package var questions: [Question] = []
    /// The transport of its packets, in the words of its provider.
    package var transport: String?
    /// Its routes by name; `nil`: its policy has no such domains.
    package var byName: NamedRoutesReport?

    /// The longest list of routes or domains in a report, which every user may ask for.
    package static let longestList = 100

    package init(
      name: String, state: String, since: Timestamp, isEnabled: Bool, decision: Decision.Outcome, rule: RuleReport?, reason: String,
      code: ReasonCode = .undecided, override: String? = nil, overrideSince: Timestamp? = nil, overrideEnds: String? = nil,
      overrideUntil: Timestamp? = nil,
      overrideReason: String? = nil, overrideLifetime: Lifetime.Word? = nil, isWanted: Bool = false, table: UInt32? = nil,
      timers: [Timer] = [],
      link: String? = nil, engine: String? = nil, endpoint: String? = nil, lastHandshake: Timestamp? = nil, receivedBytes: Int64? = nil,
      sentBytes: Int64? = nil, failure: String? = nil, failureCode: ReasonCode? = nil, notes: [RemarkReport] = [], outside: [Outside] = [],
      peerSilenceMilliseconds: Int64? = nil
    ) {
      self.name = name
      self.state = state
      self.since = since
      self.isEnabled = isEnabled
      self.decision = decision
      self.rule = rule
      self.reason = reason
      self.code = code
      self.override = override
      self.overrideSince = overrideSince
      self.overrideEnds = overrideEnds
      self.overrideUntil = overrideUntil
      self.overrideReason = overrideReason
      self.overrideLifetime = overrideLifetime
      self.isWanted = isWanted
      self.table = table
      self.timers = timers
      self.link = link
      self.engine = engine
      self.endpoint = endpoint
      self.lastHandshake = lastHandshake
      self.receivedBytes = receivedBytes
      self.sentBytes = sentBytes
      self.failure = failure
      self.failureCode = failureCode
      self.notes = notes
      self.outside = outside
      self.peerSilenceMilliseconds = peerSilenceMilliseconds
    }

    private enum CodingKeys: String, DescribedKey {
      case name, state, since, owner
      case isEnabled = "enabled"
      case decision, rule, reason, code, override
      case overrideSince = "override-since"
      case overrideEnds = "override-ends"
      case overrideUntil = "override-until"
      case overrideReason = "override-reason"
      case overrideLifetime = "override-lifetime"
      case isWanted = "wanted"
      case table, through, timers, link, mtu, addresses, routes
      case routeCount = "route-count"
      case nameServers = "name-servers"
      case domains, engine, cipher, endpoint
      case lastHandshake = "last-handshake"
      case receivedBytes = "received-bytes"
      case sentBytes = "sent-bytes"
      case failure
      case failureCode = "failure-code"
      case notes, outside
      case peerSilenceMilliseconds = "peer-silence-ms"
      case lookup, usage, provider, brought, questions, transport
      case byName = "by-name"

      var about: String {
        switch self {
        case .name: "Its name."
        case .state: "Its state, in the terms of NEVPNStatus; armed: in place without a session, it comes up at the first packet."
        case .since: "Time of the last state change."
        case .isEnabled: "Whether it may start: its policy enables it, and its owner, if it has one, is logged in."
        case .owner: "The user that it belongs to; null: it is the machine's."
        case .decision: "The decision of the rules, regardless of a manual override."
        case .rule: "The rule that decided; null: none holds."
        case .reason: "Why the tunnel is as it is."
        case .code: "The same as a code."
        case .override: "A manual override; null: none."
        case .overrideSince: "Time at which it started."
        case .overrideEnds: "Its end, for people."
        case .overrideUntil: "Time at which it ends; null: no time limit."
        case .overrideReason: "The reason that a person gave."
        case .overrideLifetime: "The event that ends it."
        case .isWanted: "Whether rules or a person have wanted it up, and nothing has wanted it down since."
        case .table: "The routing table that is its own while it is anything but down."
        case .through: "The tunnel that carries its own packets; null: they leave outside of every tunnel."
        case .timers: "Timers, the next first."
        case .link: "Its link; null: it has none."
        case .mtu: "The MTU of its link in bytes; null: it has no link."
        case .addresses: "The addresses of its link."
        case .routes: "The prefixes that the kernel routes into it, the first 100."
        case .routeCount: "The number of prefixes that the kernel routes into it."
        case .nameServers: "The name servers that it brings while it is up."
        case .domains: "The domains whose names they resolve, the first 100; empty: all names."
        case .engine: "The engine that runs it."
        case .cipher: "The library that encrypts its packets, and its version; null: the engine does not say."
        case .endpoint: "Address and port of its peer."
        case .lastHandshake: "The newest handshake with any peer, in whole seconds."
        case .receivedBytes: "Received from its peers."
        case .sentBytes: "Sent to its peers."
        case .failure: "The reason why the last attempt failed; null: it did not fail."
        case .failureCode: "The same as a code."
        case .notes: "Parts of the policy that cannot be fulfilled."
        case .outside: "Attached prefixes that stay outside the tunnel though it includes them."
        case .peerSilenceMilliseconds:
          "For how long nothing has been received, though data was sent; null: the peer is not known to be silent."
        case .lookup: "The look-up that started it, and keeps it up until it is idle; null: none."
        case .provider: "Its provider as it was started; null: the tunnel is down."
        case .brought: "Settings that its provider has brought, as far as the policy allows them; null: none."
        case .questions: "What its provider asks a person; `roamward answer` answers."
        case .transport: "How its packets go, and why, in the words of its provider; null: it says nothing."
        case .byName: "Routes to the addresses of names; null: its policy has no such domains."
        case .usage: "What its programs use, by their control group; null: none runs, or there is no such group."
        }
      }

      var values: [String]? {
        switch self {
        case .state: TunnelMachine.State.statuses
        case .override: ["up", "down"]
        default: nil
        }
      }
    }
  }

  /// The provider of a tunnel that is not down.
  package struct Provider: Hashable, Sendable, Codable {
    package var definition: String
    package var stop: String?

    package init(_ provider: RunningProvider) {
      definition = provider.definition
      stop = provider.stop
    }

    package var running: RunningProvider { RunningProvider(definition: definition, stop: stop) }

    private enum CodingKeys: String, DescribedKey {
      case definition, stop

      var about: String {
        switch self {
        case .definition: "Tells one definition from another: a tunnel whose definition changes ends, and starts again."
        case .stop: "What its end asks of it, for people; null: only steps of the agent."
        }
      }
    }
  }

  /// A program's look-up of a name.
  package struct Lookup: Hashable, Sendable, Codable {
    package var name: String
    package var user: Int64?
    package var controlGroup: String?

    package init(_ lookup: NameLookup) {
      name = lookup.name
      user = lookup.asker.map { Int64($0.user) }
      controlGroup = lookup.asker?.controlGroup
    }

    private enum CodingKeys: String, DescribedKey {
      case name, user
      case controlGroup = "control-group"

      var about: String {
        switch self {
        case .name: "The name."
        case .user: "The user ID of the program that asked; null: another host, a container, or a program that is gone."
        case .controlGroup: "The control group of the program that asked; null: not known."
        }
      }
    }
  }

  /// A question of a tunnel's provider to a person.
  package struct Question: Hashable, Sendable, Codable {
    package var number: Int
    /// `password`, `code`, `text`, `url` or `confirm`.
    package var kind: String
    package var prompt: String
    /// The page to open, for `url`.
    package var url: String?
    /// Further web servers that a window for the sign-in opens, for `url`.
    package var hosts: [String]?
    package var until: Timestamp

    package init(number: Int, kind: String, prompt: String, url: String?, hosts: [String]? = nil, until: Timestamp) {
      self.number = number
      self.kind = kind
      self.prompt = prompt
      self.url = url
      self.hosts = hosts
      self.until = until
    }

    private enum CodingKeys: String, DescribedKey {
      case number, kind, prompt, url, hosts, until

      var about: String {
        switch self {
        case .number: "Its number, for the answer."
        case .kind: "What is asked for."
        case .prompt: "The question, for people."
        case .url: "The page to open; null: none."
        case .hosts: "Web servers that a window for the sign-in opens beside the page's, by the policy; null: no page is asked for."
        case .until: "Time after which it counts as not answered."
        }
      }

      var values: [String]? {
        switch self {
        case .kind: ["password", "code", "text", "url", "confirm"]
        default: nil
        }
      }
    }
  }

  /// The resources that the programs of a tunnel use.
  package struct Usage: Hashable, Sendable, Codable {
    package var processes: Int
    package var memoryBytes: Int64
    package var processorMilliseconds: Int64

    package init(processes: Int, memoryBytes: Int64, processorMilliseconds: Int64) {
      self.processes = processes
      self.memoryBytes = memoryBytes
      self.processorMilliseconds = processorMilliseconds
    }

    private enum CodingKeys: String, DescribedKey {
      case processes
      case memoryBytes = "memory-bytes"
      case processorMilliseconds = "processor-ms"

      var about: String {
        switch self {
        case .processes: "The number of processes."
        case .memoryBytes: "Memory of the control group; without its memory controller the sum of the resident sizes."
        case .processorMilliseconds: "Processor time since the tunnel's start, also of processes that have ended."
        }
      }
    }
  }

  /// A timer: an action that will follow without an event, unless another event comes before.
  package struct Timer: Hashable, Sendable, Codable {
    /// `settle`, `decide`, `release`, `override-end`, `give-up`, `retry` or `restart`.
    package var what: String
    package var at: Timestamp

    package init(what: String, at: Timestamp) {
      self.what = what
      self.at = at
    }

    private enum CodingKeys: String, DescribedKey {
      case what = "timer"
      case at

      var about: String {
        switch self {
        case .what: "The kind of timer."
        case .at: "Time at which it fires."
        }
      }

      var values: [String]? {
        switch self {
        case .what: TunnelTimer.What.allCases.map(\.rawValue)
        default: nil
        }
      }
    }
  }

  /// An attached prefix that stays outside a tunnel though the tunnel includes it.
  package struct Outside: Hashable, Sendable, Codable {
    package var prefix: String
    package var reason: String

    /// The text for people.
    package var text: String { "\(prefix), because \(reason)" }

    package init(prefix: String, reason: String) {
      self.prefix = prefix
      self.reason = reason
    }

    private enum CodingKeys: String, DescribedKey {
      case prefix, reason

      var about: String {
        switch self {
        case .prefix: "The prefix."
        case .reason: "Why."
        }
      }
    }
  }
}
