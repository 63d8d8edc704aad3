import LinuxPlatform

/// The options of roamwardd, as they were given.
///
/// Read here and not by a library: that would be a twelfth of the agent's code (docs/decisions/0016).
struct Options {
  struct Mistake: Error {
    let description: String
  }

  var policies: [String] = []
  var stateDir = "/var/lib/roamward"
  var socket = "/run/roamward/control.sock"
  var ssidFile: String?
  var resolvConf = "/etc/resolv.conf"
  var settle = "500ms"
  var connectivityCheck: String?
  var connectivityContent: String?
  var logLevel = "info"
  var cleanup = false
  var dryRun = false
  var unlessHandedOver = false
  var lock = false
  var release = false
  var version = false
  var help = false

  /// One option: its names, the name of its value where it takes one, and what it means, in lines of up to 53 characters.
  private struct Entry {
    var names: [String]
    var value: String?
    var lines: [String]
    var take: (inout Options, String) -> Void

    init(_ name: String, _ value: String, _ lines: String..., take: @escaping (inout Options, String) -> Void) {
      (self.names, self.value, self.lines, self.take) = ([name], value, lines, take)
    }

    init(flag names: String..., lines: String..., take: @escaping (inout Options) -> Void) {
      (self.names, self.lines) = (names, lines)
      self.take = { options, _ in take(&options) }
    }

    var words: String { names.joined(separator: ", ") + (value.map { " <\($0)>" } ?? "") }
  }

  private static var entries: [Entry] {
    [
      Entry(
        "--policies", "path", "Read policies from this folder or file; repeatable.", "Later ones override earlier ones. Default:",
        PolicyLayers.standard.joined(separator: ", ")
      ) { $0.policies.append($1) },
      Entry("--state-dir", "folder", "Keep state that must survive a crash here.", "Default: \(standard.stateDir)") { $0.stateDir = $1 },
      Entry("--socket", "path", "Path of the local socket.", "Default: \(standard.socket)") { $0.socket = $1 },
      Entry("--ssid-file", "file", "Read the current SSID from this file.") { $0.ssidFile = $1 },
      Entry("--resolv-conf", "file", "Path of resolv.conf.", "Default: \(standard.resolvConf)") { $0.resolvConf = $1 },
      Entry("--settle", "duration", "Wait this long after a network change: 500ms, 2s.", "Default: \(standard.settle)") { $0.settle = $1 },
      Entry(
        "--connectivity-check", "url", "Check internet access and captive portals with this URL.",
        "An http:// URL. Used only if a rule needs it."
      ) { $0.connectivityCheck = $1 },
      Entry("--connectivity-content", "text", "Expect status 200 and this prefix, instead of status 204.") { $0.connectivityContent = $1 },
      Entry(
        "--log-level", "level", "Set the log level.", "trace, debug, info, notice, warning, error or critical.",
        "Default: \(standard.logLevel)"
      ) { $0.logLevel = $1 },
      Entry(flag: "--cleanup", lines: "Remove leftover state, but keep kill switch rules; exit.") { $0.cleanup = true },
      Entry(flag: "--unless-handed-over", lines: "With --cleanup: keep what a restart left for the next agent.") {
        $0.unlessHandedOver = true
      },
      Entry(flag: "--dry-run", lines: "With --cleanup: print the steps without executing them.") { $0.dryRun = true },
      Entry(flag: "--lock", lines: "Enable `kill-switch: always` before the network; exit.") { $0.lock = true },
      Entry(flag: "--release", lines: "Suspend the kill switch without an agent; exit.") { $0.release = true },
      Entry(flag: "--version", lines: "Show the version.") { $0.version = true },
      Entry(flag: "-h", "--help", lines: "Show this help.") { $0.help = true },
    ]
  }

  private static let standard = Options()

  static let usage = """
    usage: roamwardd [<options>]

    Run the Roamward agent in the foreground. It logs to standard error. It reloads the policies when a file
    changes, and on SIGHUP. SIGTERM takes every tunnel down and stops the agent. It needs CAP_NET_ADMIN.


    """ + entries.map(help).joined() + "\n"

  private static func help(_ entry: Entry) -> String {
    let width = 30
    let words = "  \(entry.words)"
    let first = words + String(repeating: " ", count: max(2, width - words.count)) + entry.lines[0]
    return ([first] + entry.lines.dropFirst().map { String(repeating: " ", count: width) + $0 }).map { "\($0)\n" }.joined()
  }

  private init() {}

  /// Reads `--name value` and `--name=value`, without the program's own name.
  init(_ arguments: some Sequence<String>) throws(Mistake) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      let equals = argument.firstIndex(of: "=")
      let name = String(argument[..<(equals ?? argument.endIndex)])
      guard let entry = Self.entries.first(where: { $0.names.contains(name) }) else {
        throw Mistake(description: argument.hasPrefix("-") ? "Unknown option '\(name)'" : "Unexpected argument '\(argument)'")
      }
      if entry.value == nil {
        guard equals == nil else { throw Mistake(description: "'\(name)' takes no value") }
        entry.take(&self, "")
      } else {
        guard let value = equals.map({ String(argument[argument.index(after: $0)...]) }) ?? rest.popFirst() else {
          throw Mistake(description: "Missing value for '\(name)'")
        }
        entry.take(&self, value)
      }
    }
    if policies.isEmpty { policies = PolicyLayers.standard }
  }
}
