import KernelModel

/// Programs that a tunnel is for, or not for (`apps`).
package struct AppsPolicy: Hashable, Sendable {
  /// If it is not empty, the tunnel is for these programs alone.
  package var include: [App]
  /// Programs that stay outside of every tunnel, and pass kill switches.
  package var exclude: [App]

  package init(include: [App] = [], exclude: [App] = []) {
    self.include = include
    self.exclude = exclude
  }
}

/// Programs that a policy names.
package enum App: Hashable, Sendable {
  /// A unit of the system manager, with its suffix: `transmission.service`, `work.slice`.
  case unit(String)
  /// A control group, by its path from the root of the hierarchy.
  case group(String)
  /// The file of a program that `roamward run` starts.
  case program(String)

  /// The path of the control group of these programs; `nil`: they have none before their start.
  package var group: String? {
    switch self {
    case .program: nil
    case .group(let path): path
    case .unit(let name):
      name.hasSuffix(".slice")
        ? "/" + Self.slices(of: name).joined(separator: "/") : "/system.slice/\(Self.sliceOfInstances(name))\(name)"
    }
  }

  /// The slice of the instances of a template, as systemd makes it, with a slash; empty for other units.
  private static func sliceOfInstances(_ name: String) -> String {
    guard let at = name.firstIndex(of: "@"), name.hasSuffix(".service") else { return "" }
    // Of a hyphen systemd would make a slice in a slice.
    return "system-\(name[..<at].replacing("\\", with: "\\x5c").replacing("-", with: "\\x2d")).slice/"
  }

  /// A slice and those above it: `a-b.slice` is in `a.slice` (systemd.slice(5)).
  private static func slices(of name: String) -> [String] {
    let parts = name.dropLast(6).split(separator: "-", omittingEmptySubsequences: false)
    return parts.indices.map { parts[...$0].joined(separator: "-") + ".slice" }
  }
}

extension App: LosslessStringConvertible {
  /// Parses `transmission.service`, `cgroup:/machine.slice` or `/usr/bin/transmission-gtk`.
  package init?(_ text: String) {
    if text.hasPrefix("cgroup:") {
      guard let group = ControlGroup(String(text.dropFirst(7))) else { return nil }
      self = .group(group.name)
    } else if text.hasPrefix("/") {
      guard text.utf8.count <= 4096, !text.contains("\n"), !text.hasSuffix("/") else { return nil }
      self = .program(text)
    } else {
      guard Self.isUnit(text) else { return nil }
      self = .unit(text)
    }
  }

  package var description: String {
    switch self {
    case .unit(let name): name
    case .group(let path): "cgroup:" + path
    case .program(let path): path
    }
  }

  private static func isUnit(_ text: String) -> Bool {
    text.utf8.count <= 255 && text.first != "-" && !text.hasPrefix(".")
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ":-_.\\@".contains($0)) }
      && [".service", ".scope", ".slice"].contains { text.hasSuffix($0) && text.count > $0.count }
  }
}

extension TunnelPolicy {
  /// Whether the tunnel is for some programs alone: no route of the machine leads into it, and its name servers are not the machine's.
  package var isForApps: Bool { !(apps?.include.isEmpty ?? true) }
}

extension PolicySet {
  /// The route that the policies give these programs: a tunnel, or `nil` for outside; without a value, none names them.
  package func route(of app: App) -> String?? {
    for tunnel in tunnels where tunnel.isEnabled {
      if tunnel.apps?.include.contains(app) ?? false { return .some(tunnel.name) }
      if tunnel.apps?.exclude.contains(app) ?? false { return .some(nil) }
    }
    return nil
  }
}
