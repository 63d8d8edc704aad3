import OpenVPNLanguage

/// A client's configuration file, filtered: options that run programs, write files or read files are no part of a tunnel.
///
/// Each option is kept, left out because the agent does it or nothing needs it, or an error: an option that is dropped silently could be
/// the one that the tunnel's safety depends on.
package struct ClientFile: Equatable, Sendable {
  package struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
    package let line: Int
    package let reason: String

    package var description: String { "line \(line) of the credential `config`: \(reason)" }
  }

  /// The text for openvpn, written anew.
  package private(set) var text = ""
  /// Whether it has `auth-user-pass`.
  package private(set) var asksForLogin = false
  /// The number of `remote` lines, also those of connections.
  package private(set) var servers = 0
  /// The client's own certificate, in PEM; `nil`: the file has none.
  package private(set) var certificate: [UInt8]?
  /// Options that are left out, each once.
  package private(set) var leftOut: [String] = []

  package init(_ bytes: [UInt8]) throws(Failure) {
    let file = OpenVPNFile(bytes)
    if let fault = file.faults.first { throw Failure(line: fault.line, reason: fault.reason) }
    text = OpenVPNFile.text(of: try kept(of: file.options, ignored: file.ignored))
  }

  private mutating func kept(
    of options: [OpenVPNOption], ignored: Set<String>, inConnection: Bool = false
  ) throws(Failure) -> [OpenVPNOption] {
    var result: [OpenVPNOption] = []
    for option in options {
      var option = option.meant
      if case .connection(let inner) = option.contents, !inConnection {
        option.contents = .connection(try kept(of: inner, ignored: ignored, inConnection: true))
      }
      if try isKept(option, option.judgement(ignored: ignored, inConnection: inConnection)) { result.append(option) }
    }
    return result
  }

  private mutating func isKept(_ option: OpenVPNOption, _ judgement: OpenVPNJudgement) throws(Failure) -> Bool {
    func failure(_ reason: String) -> Failure { Failure(line: option.line, reason: reason) }
    let name = option.name
    if name == "dev" || name == "dev-type", option.arguments.first?.hasPrefix("tap") == true {
      throw failure("`\(name) \(option.words[1])` is a link layer, which this provider does not have")
    }
    switch judgement {
    case .passed:
      if name == "auth-user-pass" { asksForLogin = true }
      if name == "remote" { servers += 1 }
      if name == "cert", case .block(let lines) = option.contents { certificate = Array(lines.joined(separator: "\n").utf8) }
      return true
    case .own, .leftOut:
      if !leftOut.contains(name) { leftOut.append(name) }
      return false
    case .namesFile where name == "auth-user-pass":
      throw failure("`auth-user-pass` names a file, which this provider cannot read; use the option `username` and a credential")
    case .namesFile:
      throw failure("`\(name)` names a file, which this provider cannot read; write its content between <\(name)> and </\(name)>")
    case .unsupported(let reason): throw failure("the option `\(name)` is not supported: \(reason)")
    case .badArguments: throw failure("the option `\(name)` has too few or too many arguments")
    case .refused, .unknown:
      if case .block = option.contents { throw failure("the block <\(name)> is not known") }
      if option.arguments.count > 2, name == "http-proxy" || name == "socks-proxy" {
        throw failure("`\(name)` with a file or a login is not supported")
      }
      throw failure("the option `\(name)` is not allowed; remove it if the tunnel works without it")
    }
  }
}
