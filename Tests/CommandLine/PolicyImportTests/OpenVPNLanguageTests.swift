import Glibc
import LinuxIO
import OpenVPNLanguage
import OpenVPNProvider
import PolicyFiles
import RoamwardCore
import SeededRandom
import TestSupport
import Testing

@testable import PolicyImport

/// The answer of openvpn(8) itself to a file: it reads it, and lists its digests.
private struct OpenVPNProgram {
  static let path = "/usr/sbin/openvpn"
  static var isInstalled: Bool { access(path, X_OK) == 0 }
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// The line of its first complaint (0: of no line), in the file, or in a block `<connection>` from 1; `nil`: it accepts the file.
  func complaint(about text: String) throws -> (line: Int, isInConnection: Bool, text: String)? {
    let file = "\(folder.path)/x.ovpn"
    try TextFile.replace(file, with: Array(text.utf8), mode: 0o644)
    let said = try run([Self.path, "--config", file, "--show-digests"])
    if said.code == 0 { return nil }
    func line(after mark: String) -> Int? {
      said.output.split(separator: mark).dropFirst().first.flatMap { Int($0.prefix(while: \.isNumber)) }
    }
    if let inner = line(after: "[CONNECTION-OPTIONS]:") { return (inner, true, said.output) }
    return (line(after: "\(file):") ?? 0, false, said.output)
  }
}

/// `OPENVPN_FUZZ=1000000` asks for so many profiles.
private let profiles = getenv("OPENVPN_FUZZ").flatMap { Int(String(cString: $0)) } ?? 200

@Suite struct OpenVPNLanguageTests {
  /// Parts of lines whose reading has traps. openvpn knows no option `sentinel`, and so names the first line that it reads as one.
  static let parts = [
    "sentinel", "nobind", "<ca>", "</ca>", "</ca>.", " \t</ca>", "</ca", "--<ca>", "<connection>", "</connection>", "</connection> x",
    "</CA>", "\u{b}", "\r", "\n", "\n", "\n", "\n", " ", "\"", "'", "\\", "\\\"", "\\ ", "#", ";", "--", "verb 3", "<key>", "</key>",
    "AAAA",
    "setenv X ", "float", "é", "\u{feff}", "remote 192.0.2.1", "<", ">", "-----BEGIN X-----",
    "-----END X-----",
  ]

  /// The first unknown option of a file, in the order in which openvpn reads it, with the line of its block.
  private func firstUnknown(_ options: [OpenVPNOption], in block: Int? = nil) -> (line: Int, block: Int?)? {
    for option in options {
      if case .connection(let inner) = option.contents {
        if let found = firstUnknown(inner, in: option.line) { return found }
      } else if option.judgement() == .unknown {
        return (option.line, block)
      }
    }
    return nil
  }

  @Test("openvpn and this reader agree on the first unknown option in `<connection>`", .enabled(if: OpenVPNProgram.isInstalled))
  func connections() throws {
    let openVPN = try OpenVPNProgram()
    var random = SplitMix64(seed: 40)
    let inner =
      Self.parts + ["remote 192.0.2.1\n", "\n</connection>\n", "\n<connection>\nremote 192.0.2.7\n", "\n<tls-auth>\nAAAA\n</tls-auth>\n"]
    var (agreed, accepted) = (0, 0)
    for _ in 0..<profiles {
      func some(_ count: UInt64) -> String {
        (0..<(random.next() % count)).map { _ in inner.randomElement(using: &random) ?? "" }.joined()
      }
      let text = "\(some(4))\n<connection>\nremote 192.0.2.1 1194\n\(some(8))\n</connection>\n\(some(4))\n"
      let file = OpenVPNFile(Array(text.utf8))
      guard file.faults.isEmpty else { continue }
      accepted += 1
      let said = try openVPN.complaint(about: text)
      // Options that openvpn does not take in a block are refused as such, and left out by this reader.
      if let said, said.text.contains("cannot be used in this context") { continue }
      if let unknown = firstUnknown(file.options) {
        guard let said else {
          Issue.record("openvpn accepts what this reader does not know: \(text.debugDescription)")
          continue
        }
        // It ends for another reason, such as a protocol or a variable that it does not like, and names no line.
        if said.line == 0 { continue }
        guard said.isInConnection == (unknown.block != nil) else {
          // The other of the two comes first, and is another complaint than of an unknown option.
          #expect(!said.text.contains("sentinel"), "\(text.debugDescription): \(said.text)")
          continue
        }
        #expect(said.line <= unknown.line - (unknown.block ?? 0), "\(text.debugDescription): \(said.text)")
        if said.text.contains("sentinel") { agreed += 1 }
      } else if let said, said.text.contains("sentinel"), said.text.contains("Unrecognized option") {
        Issue.record("openvpn reads an option that this reader does not: \(text.debugDescription): \(said.text)")
      }
    }
    #expect(agreed > profiles / 100 && accepted > profiles / 20, "\(agreed) agreed, \(accepted) accepted")
  }

  @Test("openvpn and this reader agree on the first line that is an unknown option", .enabled(if: OpenVPNProgram.isInstalled))
  func agreement() throws {
    let openVPN = try OpenVPNProgram()
    var random = SplitMix64(seed: 37)
    var agreed = 0
    for _ in 0..<profiles {
      let text = (0..<(random.next() % 14 + 2)).map { _ in Self.parts.randomElement(using: &random) ?? "" }.joined() + "\n"
      let file = OpenVPNFile(Array(text.utf8))
      let said = try openVPN.complaint(about: text)
      // Nothing is passed on of a file that this reader refuses.
      guard file.faults.isEmpty else { continue }
      let unknown = file.options.first { $0.judgement() == .unknown }
      let nested = file.options.contains { if case .connection = $0.contents { true } else { false } }
      if let unknown, !nested, let said, said.line > 0 {
        #expect(said.line <= unknown.line, "\(text.debugDescription): \(said.text)")
        if said.text.contains("sentinel") { agreed += 1 }
      } else if unknown != nil, !nested {
        #expect(said != nil, "\(text.debugDescription)")
      } else if let said, said.text.contains("Unrecognized option"), said.text.contains("sentinel"), !nested {
        Issue.record("openvpn reads an option that this reader does not: \(text.debugDescription): \(said.text)")
      }
    }
    #expect(agreed > profiles / 100)
  }

  @Test("what is written is read as the same options, by this reader and by openvpn", .enabled(if: OpenVPNProgram.isInstalled))
  func written() throws {
    let words = ["a", "a b", "\"", "\\", "'", "#", ";", "</ca>", "<ca>", "é", "", "x\\ y", "--up"]
    let openVPN = try OpenVPNProgram()
    var random = SplitMix64(seed: 38)
    for _ in 0..<(profiles / 2) {
      let options = (0..<3).map { _ in
        OpenVPNOption(words: ["setenv-safe"] + (0..<2).map { _ in words.randomElement(using: &random) ?? "" })
      }
      let text = OpenVPNFile.text(of: options)
      let read = OpenVPNFile(Array(text.utf8))
      #expect(read.faults.isEmpty && read.options.map(\.words) == options.map(\.words), "\(text)")
      if let said = try openVPN.complaint(about: text) { Issue.record("\(text): \(said.text)") }
    }
  }

  /// Lines that run, load, read or write something.
  static let evil = [
    "plugin /tmp/evil.so", "script-security 2", "up \"/bin/sh -c id\"", "setenv opt up /bin/sh", "config /etc/shadow",
    "socks-proxy 203.0.113.66 1080 /etc/shadow", "http-proxy 203.0.113.66 8080 /etc/shadow basic", "log /tmp/evil", "engine evil",
    "--up /bin/sh", "\"up\" /bin/sh", "u\\\\p /bin/sh", "auth-user-pass /etc/shadow", "tls-verify /bin/sh", "ca /etc/shadow",
  ]

  @Test("what runs, loads, reads or writes is passed on from no position", arguments: evil)
  func positions(line: String) throws {
    let block = "<ca>\nAAAA\n</ca>"
    let start = "client\ndev tun\nremote 192.0.2.1 1194\n"
    for text in [
      "\(line)\n", "<ca>\nAAAA\n</ca>.\n\(line)\n\(block)\n", "<ca>\nAAAA\n  </ca>\n\(line)\n\(block)\n", "\(block)\n\(line)\n",
      "<connection>\nremote 192.0.2.1 1194\n\(line)\n</connection>\n", "<ca>\nAAAA\n</ca> \(line)\n\(line)\n\(block)\n",
      "<connection>\nremote 192.0.2.1\n</connection>x\n\(line)\n<connection>\n</connection>\n", "\u{b}\(line)\r\n",
      "nobind\n\(line)\n\(line)\n",
    ] {
      let result = try importFile(Array((start + text).utf8), file: "evil.ovpn", options: ImportOptions())
      let copy = String(decoding: result.files.first { $0.name.hasSuffix(".ovpn") }?.bytes ?? [], as: UTF8.self)
      for word in ["evil", "/bin/sh", "shadow", "script-security"] { #expect(!copy.contains(word), "\(text): \(copy)") }
      #expect(result.report.entries.contains { $0.outcome == .dropped && $0.line != nil } || line.hasPrefix("auth-user-pass"))
      #expect(throws: ClientFile.Failure.self, "\(text)") { try ClientFile(Array((start + text).utf8)) }
      // The provider takes what an import wrote, unless a file is still to be named.
      #expect(throws: Never.self, "\(copy)") { try ClientFile(Array(copy.utf8)) }
      if OpenVPNProgram.isInstalled, let said = try OpenVPNProgram().complaint(about: copy) { Issue.record("\(copy): \(said.text)") }
    }
  }

  @Test(
    "openvpn accepts each line of a copy, and what it does not know is left out",
    arguments: [
      "register-dns", "block-outside-dns", "ncp-disable", "keysize 256", "key-method 2", "setenv opt block-outside-dns",
      "setenv FRIENDLY_NAME \"Corp VPN\"", "tun-ipv6", "ignore-unknown-option ncp-x\nncp-x 1", "prng SHA1 16", "opt-verify",
    ]) func leftOut(line: String) throws
  {
    let text = "client\ndev tun\nremote 192.0.2.1 1194\n\(line)\ncipher AES-256-GCM\n"
    let result = try importFile(Array(text.utf8), file: "x.ovpn", options: ImportOptions())
    let copy = String(decoding: try #require(result.files.first).bytes, as: UTF8.self)
    #expect(copy == "client\ndev tun\nremote 192.0.2.1 1194\ncipher AES-256-GCM\n" && !result.report.hasErrors)
    #expect(try result.tunnel().isEnabled, "\(result.report.text)")
    if OpenVPNProgram.isInstalled, let said = try OpenVPNProgram().complaint(about: copy) { Issue.record("\(copy): \(said.text)") }
    #expect(try ClientFile(Array(text.utf8)).text == "client\nremote 192.0.2.1 1194\ncipher AES-256-GCM\n")
  }

  @Test(
    "a file that cannot connect is off, and says why",
    arguments: [
      ("Netherlands.ovpn", "no `remote` names a server"), ("<ca>\nAAAA\n</ca>", "no `remote` names a server"),
      ("client\nremote 192.0.2.1\nscramble obfuscate x", "patched openvpn"), ("client\nremote 192.0.2.1\nauth-federate", "AWS"),
    ]) func incomplete(text: String, reason: String) throws
  {
    let result = try importFile(Array("\(text)\n".utf8), file: "x.ovpn", options: ImportOptions())
    #expect(try !result.tunnel().isEnabled && result.shownText.contains(reason), "\(result.report.text)")
  }
}
