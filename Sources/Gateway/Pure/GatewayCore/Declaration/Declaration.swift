package import NetworkTypes

/// A part of the store as the files of a gateway declare it. What they do not say stays as commands and logins have made it.
package struct Declaration: Hashable, Sendable {
  package var site: Placed<Site>?
  /// All pools of this gateway; `nil`: not declared.
  package var pools: Placed<[Placed<Pool>]>?
  package var groups: [Placed<Group>] = []
  package var users: [Placed<User>] = []
  package var settings: [Placed<ScopeSettings>] = []
  /// All rules, in the order of their evaluation; `nil`: not declared.
  package var rules: Placed<[Placed<Rule>]>?

  package init() {}

  /// A value with its place in a file.
  package struct Placed<Value: Hashable & Sendable>: Hashable, Sendable {
    package var value: Value
    package var place: DeclaredPlace

    package init(_ value: Value, at place: DeclaredPlace) {
      self.value = value
      self.place = place
    }
  }

  package struct Site: Hashable, Sendable {
    package var endpoint: Endpoint
    package var link: InterfaceName?
    package var name: GatewayName?

    package init(endpoint: Endpoint, link: InterfaceName? = nil, name: GatewayName? = nil) {
      self.endpoint = endpoint
      self.link = link
      self.name = name
    }
  }

  package struct Pool: Hashable, Sendable {
    package var name: GatewayName
    package var prefix: IPPrefix
    package var isTranslated: Bool
    /// Whether its addresses are at all gateways of the store.
    package var isEverywhere: Bool

    package init(name: GatewayName, prefix: IPPrefix, isTranslated: Bool = false, isEverywhere: Bool = false) {
      self.name = name
      self.prefix = prefix
      self.isTranslated = isTranslated
      self.isEverywhere = isEverywhere
    }
  }

  package struct Group: Hashable, Sendable {
    package var name: GatewayName
    package var precedence: Int64
    /// All users of the group; `nil`: not declared.
    package var members: [GatewayName]?

    package init(name: GatewayName, precedence: Int64 = 100, members: [GatewayName]? = nil) {
      self.name = name
      self.precedence = precedence
      self.members = members
    }
  }

  package struct User: Hashable, Sendable {
    package var name: GatewayName
    package var until: Timestamp?

    package init(name: GatewayName, until: Timestamp? = nil) {
      self.name = name
      self.until = until
    }
  }

  /// The owner of settings, by name.
  package enum Scope: Hashable, Sendable {
    case everybody
    case group(GatewayName)
    case user(GatewayName)
    case device(DevicePath)

    /// As `settings of` goes on.
    package var text: String {
      switch self {
      case .everybody: "everybody"
      case .group(let name): "group \(name)"
      case .user(let name): "user \(name)"
      case .device(let path): "device \(path)"
      }
    }
  }

  package struct ScopeSettings: Hashable, Sendable {
    package var scope: Scope
    package var pushed: PushedSettings
    package var deviceLimit: Int64?

    package init(scope: Scope, pushed: PushedSettings, deviceLimit: Int64? = nil) {
      self.scope = scope
      self.pushed = pushed
      self.deviceLimit = deviceLimit
    }
  }

  package struct Rule: Hashable, Sendable {
    package var name: GatewayName
    package var isAllowing: Bool
    package var source: Party
    package var destination: Goal
    package var transport: Transport
    package var ports: [PortRange]

    package init(
      name: GatewayName, isAllowing: Bool, source: Party, destination: Goal, transport: Transport = .any, ports: [PortRange] = []
    ) {
      self.name = name
      self.isAllowing = isAllowing
      self.source = source
      self.destination = destination
      self.transport = transport
      self.ports = ports
    }
  }

  /// The source of a rule: `everybody`, `user:NAME` or `group:NAME`.
  package enum Party: Hashable, Sendable, LosslessStringConvertible {
    case everybody
    case user(GatewayName)
    case group(GatewayName)

    package init?(_ text: String) {
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      switch (parts[0], parts.count == 2 ? GatewayName(parts[1]) : nil) {
      case ("everybody", nil) where parts.count == 1: self = .everybody
      case ("user", let name?): self = .user(name)
      case ("group", let name?): self = .group(name)
      default: return nil
      }
    }

    package var description: String {
      switch self {
      case .everybody: "everybody"
      case .user(let name): "user:\(name)"
      case .group(let name): "group:\(name)"
      }
    }
  }

  /// The destination of a rule: `everything`, `group:NAME`, or prefixes.
  package enum Goal: Hashable, Sendable {
    case everything
    case prefixes([IPPrefix])
    /// The devices of a group's users.
    case group(GatewayName)

    /// Prefixes have commas between them.
    package init?(_ text: String) {
      if text == "everything" {
        self = .everything
      } else if text.hasPrefix("group:"), let name = GatewayName(String(text.dropFirst(6))) {
        self = .group(name)
      } else {
        let prefixes = text.split(separator: ",", omittingEmptySubsequences: false).map { IPPrefix(String($0)) }
        guard !prefixes.contains(where: { $0 == nil }) else { return nil }
        self = .prefixes(prefixes.compactMap { $0 })
      }
    }

    /// All of them as one; `nil`: a rule cannot have all of them.
    package static func together(_ goals: [Goal]) -> Goal? {
      if goals.count == 1 { return goals[0] }
      var all: [IPPrefix] = []
      for goal in goals {
        guard case .prefixes(let prefixes) = goal else { return nil }
        all += prefixes
      }
      return .prefixes(all)
    }
  }
}

/// A place in a file that declares something.
package struct DeclaredPlace: Hashable, Sendable, CustomStringConvertible {
  package let file: String
  package let line: Int
  package let column: Int

  package init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  package var description: String { "\(file):\(line)" }
}

/// A declaration that cannot be carried out, with its place.
package struct DeclarationFault: Error, Hashable, Sendable {
  /// `nil`: something that is declared no longer.
  package let place: DeclaredPlace?
  package let error: GatewayError

  package init(place: DeclaredPlace?, error: GatewayError) {
    self.place = place
    self.error = error
  }
}
