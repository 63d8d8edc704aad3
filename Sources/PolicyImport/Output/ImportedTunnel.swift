import NetworkTypes
internal import PolicyFiles
import RoamwardCore

/// A rule as it was translated, and the words that it came from.
struct ImportedRule {
  var rule: Rule
  var original: String?
}

/// Which identity of a profile a tunnel is to use.
enum IdentityChoice: Hashable {
  case named(String)
  /// The only one there is.
  case any
}

/// A key with its certificate, as files beside the policy.
struct ProfileIdentity: Hashable {
  var uuid: String?
  var file: String
  var passwordFile: String?
}

/// One tunnel on its way into a policy file.
struct ImportedTunnel {
  enum Provider {
    case wireGuard(file: String)
    case command(up: [String], down: [String], status: [String], interface: String? = nil)
    /// Nothing can build it yet: the policy keeps the rules, disabled, and says what is missing.
    case missing

    var isWireGuard: Bool { if case .wireGuard = self { true } else { false } }
  }

  var name: String
  var about: String?
  /// Why the tunnel is not to be used as it is; empty where it can be.
  var obstacles: [String] = []
  var provider = Provider.missing
  var onDemand: Bool?
  /// Why the rules must not act, whatever the file says.
  var ruleObstacle: String?
  var rules: [ImportedRule] = []
  var idle: Int64?
  var routes: RoutePolicy?
  var dns: DNSPolicy?
  var proxy: ProxyPolicy?
  var mtu: UInt32?
  var includesAllNetworks = false
  /// Of the file, for people; printed as comments at the top. Never secrets.
  var remarks: [String] = []
  /// Beside the policy.
  var files: [OutputFile] = []
  /// What it proves itself with, of what a profile carries.
  var identity: IdentityChoice?
  /// Names that its files must not have.
  private let taken: Set<String>

  init(name: String, avoiding taken: Set<String> = []) {
    self.name = name
    self.taken = taken
  }

  mutating func addSecret(_ suffix: String, _ bytes: [UInt8]) -> String {
    addFile("\(name).\(suffix)", bytes, isSecret: true)
  }

  /// A name that no other file of this tunnel has, nor the one that is imported.
  mutating func addFile(_ wanted: String, _ bytes: [UInt8], isSecret: Bool) -> String {
    let dot = wanted.lastIndex(of: ".") ?? wanted.endIndex
    var file = wanted
    var number = 2
    while taken.contains(file) || files.contains(where: { $0.name == file }) {
      file = "\(wanted[..<dot])-\(number)\(wanted[dot...])"
      number += 1
    }
    files.append(OutputFile(name: file, bytes: bytes, isSecret: isSecret))
    return file
  }
}
