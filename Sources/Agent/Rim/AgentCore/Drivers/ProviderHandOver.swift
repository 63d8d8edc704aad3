internal import JSON
internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// The state that the next agent needs to continue with a provider's program, as JSON (docs/decisions/0049).
struct ProviderHandOver: Codable {
  /// The version of the protocol, and the session's numbers.
  var version: Int64
  var program: String
  var lastRequest: Int64
  var lastMessage: Int64
  var mayAsk: Bool
  /// The definition of the tunnel (`InstalledProviderConfiguration.definition`) with which it was started.
  var definition: String
  /// The last settings of the provider as its message; the next agent judges them again.
  var settings: String
  /// The network that the provider knows, as the message that tells it.
  var network: String
  var gateways: [String]
  /// The firewall mark of its sockets.
  var mark: Int64
  /// The transport of the tunnel's packets, in the provider's words.
  var transport: String?
  /// From when to when certificates are valid, in seconds since 1970.
  var validities: [NotedValidity]?
  /// Known when the program is left.
  var process = LeftProgram(process: 0, started: 0)

  struct NotedValidity: Codable {
    var name: String
    var from: Int64?
    var until: Int64
  }

  init?(
    _ session: ProviderSession.Resumption, _ configuration: InstalledProviderConfiguration, settings: TunnelSettings, network: NetworkPath?,
    gateways: [IPAddress], mark: UInt32
  ) {
    guard let wanted = try? ProviderMessage.settings(id: 1, settings).encoded(), let path = try? AgentMessage.network(network).encoded()
    else { return nil }
    version = Int64(session.version)
    program = session.program
    (lastRequest, lastMessage, mayAsk) = (Int64(session.lastRequest), Int64(session.lastMessage), session.mayAsk)
    definition = configuration.definition
    self.settings = String(decoding: wanted, as: UTF8.self)
    self.network = String(decoding: path, as: UTF8.self)
    self.gateways = gateways.map(\.description)
    self.mark = Int64(mark)
  }

  init?(_ text: String?) {
    guard let text, let json = try? JSON(parsing: Array(text.utf8)), let note = try? json.decoded(as: ProviderHandOver.self) else {
      return nil
    }
    self = note
  }

  var text: String { JSON(encoding: self).text() }

  var resumption: ProviderSession.Resumption {
    ProviderSession.Resumption(
      version: Int(version), program: program, lastRequest: UInt32(clamping: lastRequest), lastMessage: UInt32(clamping: lastMessage),
      mayAsk: mayAsk)
  }

  var wantedSettings: TunnelSettings? {
    guard case .settings(_, let settings) = try? ProviderMessage(decoding: Array(settings.utf8)) else { return nil }
    return settings
  }

  /// The reason why an agent would not have started the program so; `nil`: it would. `own`: the mark that its sockets would have.
  func difference(from definition: String, mark own: UInt32, _ left: LeftTunnel) -> String? {
    if self.definition != definition { return "its policy or its manifest was changed" }
    if UInt32(clamping: mark) != own { return "the tunnel that it goes through is another one" }
    if !left.isFitting { return "its place among the tunnels is another one" }
    return left.hasLink ? nil : "its link is gone"
  }

  /// `.some(nil)`: it knows of none.
  var knownNetwork: NetworkPath?? {
    guard case .network(let path) = try? AgentMessage(decoding: Array(network.utf8)) else { return nil }
    return .some(path)
  }
}

extension InstalledProviderConfiguration {
  /// All that a run of the program depends on, as text. What the policy allows is not in it: settings are judged again.
  var definition: String {
    // The first release had our own providers in `sbin`, and its agent has written it so.
    let path = program.path.replacing("/libexec/roamward/", with: "/sbin/")
    let program: JSON = [
      "path": .string(path), "user": .string(program.user), "capability": .string(program.capability?.rawValue ?? ""),
      "needs": .array(program.needs.map(\.rawValue).sorted().map { .string($0) }), "options": options,
      "credentials": .array(credentials.map { ["name": .string($0.name), "path": .string($0.path)] }),
    ]
    return program.text()
  }
}
