package import JSON
internal import NetworkTypes
package import RoamwardCore

/// The output of `roamward explain TUNNEL --json`: the tunnel's decision with all rules.
package struct ExplanationReport: Equatable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var decision: DecisionReport
  package var provider: Provider
  package var network: JSON
  package var routes: [RouteReport]

  package init(decision: DecisionReport, provider: Provider, network: JSON, routes: [RouteReport]) {
    self.decision = decision
    self.provider = provider
    self.network = network
    self.routes = routes
  }

  private enum CodingKeys: String, DescribedKey {
    case version, decision, provider, network, routes

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .decision: "The tunnel's decision."
      case .provider: "The tunnel's provider."
      case .network: "The network that was judged, as network.schema.json describes it, without `facts`."
      case .routes: "Routes and rules of this machine inside the tunnel's prefixes, while it is up; empty on another network."
      }
    }
  }
}

extension ExplanationReport {
  /// A tunnel's provider.
  package struct Provider: Hashable, Sendable, Codable {
    package var name: String
    package var providerClass: String

    package init(name: String, providerClass: String) {
      self.name = name
      self.providerClass = providerClass
    }

    private enum CodingKeys: String, DescribedKey {
      case name
      case providerClass = "class"

      var about: String {
        switch self {
        case .name: "Its name, for people."
        case .providerClass: "Who sets the tunnel's addresses, routes and DNS: the agent (owned), or its own programs (foreign)."
        }
      }

      var values: [String]? {
        switch self {
        case .providerClass: ProviderClass.allCases.map(\.rawValue)
        default: nil
        }
      }
    }
  }
}

/// The output of `roamward explain --to DESTINATION --json`: the way of a packet.
package struct PacketReport: Hashable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var address: String
  package var transport: String
  package var port: Int?
  package var verdict: String
  package var stoppedAt: String?
  package var steps: [Step]

  private enum CodingKeys: String, DescribedKey {
    case version, address
    case transport = "protocol"
    case port, verdict
    case stoppedAt = "stopped-at"
    case steps

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .address: "The packet's destination."
      case .transport: "Its protocol."
      case .port: "Its port; null: none."
      case .verdict: "Whether it arrives, as far as is known."
      case .stoppedAt: "The place that stops it; null: none is known."
      case .steps: "Its way, in order."
      }
    }

    var values: [String]? {
      switch self {
      case .transport: ["tcp", "udp", "icmp"]
      case .verdict: ["pass", "stop", "unknown"]
      default: nil
      }
    }
  }
}

extension PacketReport {
  /// One place of a packet's way.
  package struct Step: Hashable, Sendable, Codable {
    package var place: String
    package var verdict: String
    package var text: String

    private enum CodingKeys: String, DescribedKey {
      case place, verdict, text

      var about: String {
        switch self {
        case .place: "The place: routes, kill switch, kernel, a tunnel, or a place of the tunnel's other end."
        case .verdict: "What it does with the packet; note: a remark that stops nothing."
        case .text: "Why, for people."
        }
      }

      var values: [String]? {
        switch self {
        case .verdict: PacketExplanation.Verdict.allCases.map(\.rawValue)
        default: nil
        }
      }
    }
  }

  package init(_ packet: PacketExplanation) {
    (address, transport) = (packet.destination.address.description, packet.destination.transport)
    port = packet.destination.port.map { Int($0) }
    (verdict, stoppedAt) = (packet.verdict.rawValue, packet.stop?.place)
    steps = packet.steps.map { Step(place: $0.place, verdict: $0.verdict.rawValue, text: $0.text) }
  }
}
