import AgentCore
import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import LinuxPlatform
import NetworkTypes
import PolicyFiles
import PolicySource
import RoamwardCore
import StatusDisplay

/// The names that a shell completes. A shell waits for them after each tab, so nothing here waits long, prints an error or needs root.
extension CompletionKind {
  /// Names of tunnels: those of the running agent, else those of the policies.
  static var tunnels: CompletionKind {
    .custom { words, _, _ in
      let folders = values(of: "--policies", in: words)
      if folders.isEmpty, let names = agentsTunnels(words) { return names }
      return tunnels(inPolicies: folders.isEmpty ? PolicyLayers.standard : folders)
    }
  }

  /// Policy files and folders. The shell lists the files of the current folder.
  static var policies: CompletionKind { .file(extensions: ["yaml", "yml", "json"]) }

  /// Facts for `--set`, each with the `=` that its value follows.
  static var facts: CompletionKind {
    .custom { _, _, typed in
      // A shell that ends words at `=` passes only what follows it: a value, which nothing here can know.
      typed.contains("=") ? [] : settingNames.map { "\($0)=" }
    }
  }

  /// Programs of the desktop; `routed`: those that have a route of their own.
  static func launchers(routed: Bool = false) -> CompletionKind {
    .custom { _, _, _ in routed ? DesktopFolders().routed.map(\.name) : DesktopFolders().names }
  }

  /// Names for `--field`. Asked for when it is completed, as a list would take a quarter of each start.
  static var fields: CompletionKind { .custom { _, _, _ in StatusField.names } }

  /// The longest wait for an agent that is stopped or busy.
  private static let patience = Duration.milliseconds(300)

  private static func agentsTunnels(_ words: [String]) -> [String]? {
    let socket = values(of: "--socket", in: words).last ?? AgentOptions.standardSocket
    guard let client = try? ControlClient(path: socket), let report = try? client.status(within: patience) else { return nil }
    return report.tunnels.map(\.name) + report.groups.map(\.name)
  }

  private static func tunnels(inPolicies layers: [String]) -> [String] {
    loadPolicies(layers: layers, files: .person, requireRootOwnership: false).policies.names
  }

  /// The values of an option that may be repeated, as the shell passes the words of a line: `--option value` or `--option=value`.
  private static func values(of option: String, in words: [String]) -> [String] {
    var found: [String] = []
    for (place, word) in words.enumerated() {
      if word == option, place + 1 < words.count {
        // bash makes three words of `--option=value`.
        let next = words[place + 1] == "=" ? place + 2 : place + 1
        if next < words.count { found.append(words[next]) }
      } else if word.hasPrefix("\(option)=") {
        found.append(String(word.dropFirst(option.count + 1)))
      }
    }
    return found.filter { !$0.isEmpty }
  }
}

extension PolicySet {
  /// The names that commands take: of tunnels and of groups.
  fileprivate var names: [String] { tunnels.map(\.name) + groups.map(\.name) }
}
