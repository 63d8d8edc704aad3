import ArgumentParser
import Glibc
import KeyMemory
import LinuxPlatform
import NetworkTypes
import PolicyAuthoring
import PolicyFiles
import PolicyImport
import PolicySource
import Terminal

struct Init: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Create a first policy folder.",
    discussion: """
      Writes a WireGuard tunnel that is off, with a new key of its own, its rules, and a file for trusted networks. It says what to fill \
      in. If you have a file of another tool, `roamward import FILE` makes a complete policy of it instead.

      Example: `roamward init policies --name corp`
      """)

  @Argument(help: "Folder (default: /etc/roamward/policies).", completion: .directory) var folder: String?
  @Option(help: ArgumentHelp("Name of the tunnel.", valueName: "name")) var name = "vpn"

  func validate() throws {
    guard isUsableTunnelName(name) else {
      throw ValidationError("a tunnel's name is 1 to 64 letters, digits, `.`, `_` and `-`, not beginning with `.` or `-`")
    }
  }

  func run() throws {
    let place = folder ?? PolicyLayers.standard.last ?? "."
    let existing = PolicyListing(loadPolicies(layers: [place], files: .person, requireRootOwnership: false)).files
    guard existing.isEmpty else {
      throw ValidationError("\(place) has policies already: \(existing.map { fileName(of: $0.path) }.joined(separator: ", "))")
    }
    guard let pair = keyPair() else { throw ValidationError("no key could be made") }
    let first = FirstPolicy(tunnel: name, privateKey: pair.secret, publicKey: pair.open)
    do throws(OutputFailure) {
      let secrets = Set(first.files.filter(\.isSecret).map(\.name))
      for path in try writeFiles(first.files, to: place, replacing: false) {
        write("wrote \(path)\(secrets.contains(fileName(of: path)) ? " (0600)" : "")\n")
      }
    } catch {
      let cure = geteuid() == 0 || folder != nil ? "" : "help: run the command with sudo, or name a folder of your own\n"
      writeError("roamward: nothing was written: \(error)\n\(cure)")
      throw ExitStatus.refused
    }
    let option = folder.map { " --policies \(shellWord($0))" } ?? ""
    write(
      """
      public key, for the gateway's administrator: \(pair.open)
      next: put the gateway's key, endpoint and networks into \(place)/\(name).conf
            roamward edit \(name)\(option)    # remove `enabled: false`
            roamward trust\(option)       # on each network that you trust
      \(folder.map { "      sudo roamward apply \(shellWord($0))\n" } ?? "")
      """)
  }

  /// A new private key and its public key, in base64.
  private func keyPair() -> (secret: String, open: String)? {
    // The standard library takes these from getrandom(2).
    var random = SystemRandomNumberGenerator()
    var bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    // As wg(8) prints it (RFC 7748, section 5).
    bytes[0] &= 248
    bytes[31] = bytes[31] & 127 | 64
    guard let open = SecretKey(bytes: bytes)?.publicBytes else { return nil }
    return (base64(bytes), base64(open))
  }
}
