import Glibc
import LinuxIO
import LoginProtocol
import NetworkTypes
import PolicyAuthoring
import PolicyFiles
import PolicySource
import RoamwardCore
import Terminal

/// The change of policies for a login: none, one of a policy for that gateway, or a new one.
struct LoginPlan {
  let wanted: GatewayTunnel
  /// The files as they are to be in the topmost folder; empty: nothing changes.
  let files: [OutputFile]
  /// Lines for people.
  let summary: [String]
  /// The pin that a policy has, and would lose.
  let replacedPin: String?

  /// The policy file.
  var path: String { wanted.path }

  /// `pin`: gives the pin if neither the target nor a policy has one.
  init(
    _ target: LoginTarget, named name: String?, in loaded: LoadedPolicies, _ change: ChangeOptions, pin: (Endpoint) throws -> GatewayPin
  ) throws {
    let known = GatewayTunnel.all(in: loaded.policies).filter { $0.server == target.server && (name ?? $0.tunnel) == $0.tunnel }
    if let present = known.first(where: { $0.username == target.user }) ?? known.first {
      try self.init(present, target, change)
    } else {
      try self.init(target, pin: target.pin ?? pin(target.server), named: name, in: loaded, top: change.layers.last ?? ".")
    }
  }

  /// A policy that is there.
  private init(_ present: GatewayTunnel, _ target: LoginTarget, _ change: ChangeOptions) throws {
    var wanted = present
    wanted.pin = target.pin?.description ?? present.pin
    wanted.username = target.user ?? present.username
    guard wanted != present else {
      self.init(wanted: wanted, files: [], summary: ["\(present.path): tunnel \(present.tunnel) to \(present.server), as it is"])
      return
    }
    let text: String
    do throws(TextChangeFailure) {
      text = try present.changed(try Self.text(of: present, change), pin: wanted.pin, username: wanted.username)
    } catch {
      throw Self.unchangeable(present, error.reason)
    }
    let changes = [
      wanted.pin == present.pin ? nil : "pin \(present.pin) → \(wanted.pin)",
      wanted.username == present.username ? nil : "user name \(present.username ?? "none") → \(wanted.username ?? "none")",
    ]
    let path = "\(change.layers.last ?? ".")/\(fileName(of: present.path))"
    self.init(
      wanted: wanted, files: try change.changed(present.path, to: text),
      summary: ["\(path): tunnel \(present.tunnel) to \(present.server): " + changes.compactMap(\.self).joined(separator: ", ")],
      replacedPin: wanted.pin == present.pin ? nil : present.pin)
  }

  private static func text(of present: GatewayTunnel, _ change: ChangeOptions) throws(TextChangeFailure) -> String {
    do { return try change.text(of: present.path) } catch { throw TextChangeFailure("it cannot be read") }
  }

  /// A new policy.
  private init(_ target: LoginTarget, pin: GatewayPin, named name: String?, in loaded: LoadedPolicies, top: String) throws {
    let listing = PolicyListing(loaded)
    let names = Set(listing.files.map { fileName(of: $0.path) })
    let tunnels = Set(loaded.policies.tunnels.map(\.name))
    let isTaken = { (name: String) in
      tunnels.contains(name) || [".yaml", ".yml", ".json"].contains { names.contains(name + $0) }
        || access("/sys/class/net/\(name)", F_OK) == 0
    }
    if let name, isTaken(name) {
      throw Failure.refused("there is a tunnel, a policy file or a link \(name) already\n  help: take another name, or leave --name out")
    }
    let tunnel = name ?? GatewayPolicy.name(for: target.server.host, isTaken: isTaken)
    let wanted = GatewayTunnel(
      tunnel: tunnel, path: "\(top)/\(tunnel).yaml", server: target.server, pin: pin.description, username: target.user)
    let isDefined = loaded.policies.networks.contains { $0.name == NetworkText.trusted }
    let policy = GatewayPolicy(wanted, trusted: isDefined ? .present : names.contains(NetworkText.fileName) ? .none : .new)
    self.init(
      wanted: wanted, files: policy.files,
      summary: policy.files.map { file in
        file.name == NetworkText.fileName
          ? "\(top)/\(file.name): no trusted network yet; `roamward trust` adds the one that you are on"
          : "\(top)/\(file.name): tunnel \(tunnel) to \(target.server), up everywhere but on trusted networks"
      })
  }

  private init(wanted: GatewayTunnel, files: [OutputFile], summary: [String], replacedPin: String? = nil) {
    self.wanted = wanted
    self.files = files
    self.summary = summary
    self.replacedPin = replacedPin
  }

  func unchangeable(_ reason: String) -> Failure { Self.unchangeable(wanted, reason) }

  private static func unchangeable(_ present: GatewayTunnel, _ reason: String) -> Failure {
    .refused(
      "\(present.path) cannot be changed by this command: \(reason); nothing was changed\n"
        + "  help: `roamward edit \(present.tunnel)` changes `pin` and `username` there")
  }
}
