import NetworkTypes
import OpenVPNLanguage
import PolicyFiles
import RoamwardCore

/// An OpenVPN configuration for a service, written anew from what it says. What runs programs, or reads or writes files, is left out,
/// because the file comes from elsewhere and root reads it.
struct OpenVPNCopy {
  var options: [OpenVPNOption] = []
  var obstacles: [String] = []
  var names = OpenVPNNames()
  /// Whether an option names another file.
  var namesFiles = false
  /// Whether the server asks for a name and a password.
  var asksForLogin = false

  var text: String { OpenVPNFile.text(of: options) }

  /// The value of `dev`: a kind of device (tun, tap), or a link's name.
  var device: String? { options.last { $0.name == "dev" && $0.words.count == 2 }?.words[1] }

  /// Whether the device is a link layer, which the installed provider does not have.
  var isLinkLayer: Bool {
    options.contains { ($0.name == "dev" || $0.name == "dev-type") && $0.arguments.first?.hasPrefix("tap") == true }
  }

  /// Takes the options of a file, or those of one entry of a profile, whose place is `path` and `fixed`.
  mutating func take(_ file: OpenVPNFile, path: String = "", line fixed: Int? = nil, _ report: inout ImportReport) {
    for fault in file.faults {
      report.dropped(KeyPath(text: path + "(line)", line: fixed ?? fault.line), fault.reason, weight: .error)
    }
    if let fault = file.faults.first {
      obstacles.append("openvpn would refuse the file, or read it otherwise than it looks: \(fault.reason)")
    }
    options += take(file.options, ignored: file.ignored, path: path, line: fixed, &report)
  }

  /// A file that names no server is no client's file, or only a part of one.
  mutating func finish() {
    let all = options.flatMap { option in
      if case .connection(let inner) = option.contents { inner } else { [option] }
    }
    if !all.contains(where: { $0.name == "remote" }) { obstacles.append("no `remote` names a server, so it is incomplete") }
  }
}

extension OpenVPNCopy {
  private mutating func take(
    _ options: [OpenVPNOption], ignored: Set<String>, path: String, line fixed: Int?, inConnection: Bool = false,
    _ report: inout ImportReport
  ) -> [OpenVPNOption] {
    options.compactMap { option in
      var option = option.meant
      let line = fixed ?? option.line
      if case .connection(let inner) = option.contents, !inConnection {
        report.taken(KeyPath(text: "\(path)<connection>", line: line))
        option.contents = .connection(
          take(inner, ignored: ignored, path: "\(path)<connection>.", line: fixed, inConnection: true, &report))
        return option
      }
      return take(option, option.judgement(ignored: ignored, inConnection: inConnection), path, line, &report)
    }
  }

  private mutating func take(
    _ option: OpenVPNOption, _ judgement: OpenVPNJudgement, _ path: String, _ line: Int, _ report: inout ImportReport
  ) -> OpenVPNOption? {
    let isBlock = option.contents != .none
    let place = KeyPath(text: path + (isBlock ? "<\(option.name)>" : option.name), line: line)
    switch judgement {
    case .passed where isBlock: report.taken(place, "inline, in the file for root alone")
    case .passed where option.name == "dhcp-option" || option.name == "dns":
      // OpenVPN itself ignores it: only scripts use it.
      if let change = names.take(option.words) {
        report.changed(place, change)
      } else {
        report.dropped(place, "not a name server or domain that a policy can say", weight: .warning)
      }
    case .passed where option.name == "auth-user-pass": askForLogin(place, &report)
    case .passed, .own: report.taken(place)
    case .namesFile where option.name == "auth-user-pass":
      // The file's contents are sent to the server.
      askForLogin(place, &report)
      return OpenVPNOption(words: [option.name])
    case .namesFile where option.words[1].contains("/"):
      report.dropped(place, "names a file elsewhere; put it beside the policy, and name it without a folder", weight: .warning)
      obstacles.append("`\(option.name)` names a file elsewhere, which has to be put beside the policy")
      return nil
    case .namesFile:
      report.taken(place, "names another file, which was not copied")
      namesFiles = true
      obstacles.append("`\(option.name)` names another file, which has to be put beside the policy")
    case .leftOut(let reason):
      report.dropped(place, reason)
      // The direction of a key may stand after the place of its contents.
      return option.words.count == 3 && option.words[1] == "[inline]" ? OpenVPNOption(words: ["key-direction", option.words[2]]) : nil
    case .unsupported(let reason):
      report.dropped(place, reason, weight: .error)
      obstacles.append("`\(option.name)`: \(reason)")
      return nil
    case .badArguments:
      report.dropped(place, "too few or too many arguments", weight: .error)
      obstacles.append("openvpn would refuse `\(option.name)` for the number of its arguments")
      return nil
    case .refused:
      report.dropped(place, "runs programs, loads code, or reads or writes files; left out", weight: .warning)
      return nil
    case .unknown:
      // The name of an unknown option is not shown: it may be a key without its block.
      report.dropped(
        KeyPath(text: path + (path.isEmpty ? "(line)" : "(option)"), line: line),
        "not an option that is known to be harmless; left out", weight: .warning)
      return nil
    }
    return option
  }

  private mutating func askForLogin(_ place: KeyPath, _ report: inout ImportReport) {
    report.taken(place, "the server asks for a name and password")
    asksForLogin = true
  }
}

extension ImportedTunnel {
  /// Uses the installed provider, which runs openvpn(8) without privileges, and sets what the server sends as far as the policy allows it.
  mutating func useProvider(_ copy: OpenVPNCopy, _ manifest: ProviderManifestFile, _ report: inout ImportReport) {
    let file = addFile("\(name).ovpn", Array(copy.text.utf8), isSecret: true)
    provider = .installed("openvpn", credentials: [ProviderCredential(name: "config", path: file)], manifest)
    dns = copy.names.policy
    obstacles += copy.obstacles
    if copy.asksForLogin {
      obstacles.append(
        "it needs a user name: add `options: { username: NAME }` to `installed`, and a file for root alone as `password` to `credentials`,"
          + " or answer by `roamward answer`")
    }
    report.record(
      "the installed provider runs openvpn(8) without privileges; the server's routes and name servers are used (`allow` limits them)")
  }

  /// Runs OpenVPN as a separate process. The tunnel counts as up while it runs, which is earlier than connected.
  mutating func useOpenVPN(_ copy: OpenVPNCopy, folder: String, _ report: inout ImportReport) {
    let file = addFile("\(name).ovpn", Array(copy.text.utf8), isSecret: true)
    let pid = "/run/roamward-openvpn-\(name).pid"
    var up = ["/usr/sbin/openvpn", "--cd", folder, "--config", file, "--daemon", "roamward-\(name)", "--writepid", pid]
    var status = ["/usr/bin/pgrep", "--pidfile", pid]
    var link: String?
    dns = copy.names.policy
    if dns != nil {
      // Its name servers belong to its link, whose name therefore has to be known in advance.
      let kind = copy.device ?? "tun"
      let isNamed = kind != "tun" && kind != "tap" && InterfaceName(kind) != nil
      let name = isNamed ? kind : TunnelSetup.linkName(forTunnel: name)
      if !isNamed { up += ["--dev", name, "--dev-type", kind == "tap" ? "tap" : "tun"] }
      status = ["/usr/bin/test", "-e", "/sys/class/net/\(name)"]
      link = name
    }
    provider = .command(up: up, down: ["/usr/bin/pkill", "--pidfile", pid], status: status, interface: link)
    obstacles += copy.obstacles
    if copy.asksForLogin {
      obstacles.append("it needs a name and password: put them into a file for root alone, and name it after `auth-user-pass`")
    }
    report.record(
      "the provider of OpenVPN is not installed (package roamward-openvpn), or the file names others: the policy starts openvpn(8), which has to be installed, in \(shown(folder)); the tunnel counts as connected \(link == nil ? "while it runs" : "once its link is there")"
    )
  }
}

extension ImportedTunnel {
  /// Names an identity of the profile in the OpenVPN file, or puts it there for the installed provider, unless that has its own keys.
  mutating func useOpenVPNIdentity(_ identity: ProfileIdentity?, _ report: inout ImportReport) {
    guard let i = files.firstIndex(where: { $0.name.hasSuffix(".ovpn") }) else { return }
    if OpenVPNFile(files[i].bytes).options.contains(where: { $0.name == "pkcs12" || $0.name == "key" }) { return }
    guard let identity else {
      return obstacles.append("the profile does not hold the identity (PKCS#12) that it names; name one with `pkcs12` in \(files[i].name)")
    }
    if case .installed = provider {
      // It gets no other file than this.
      files[i].bytes += Array("<pkcs12>\n\(base64Lines(identity.contents))</pkcs12>\n".utf8)
      addCredential("key-password", file: identity.passwordFile, missing: "the password of its identity")
      return report.record("\(files[i].name) holds the identity \(identity.file)")
    }
    files[i].bytes += Array("pkcs12 \(identity.file)\n".utf8)
    if let password = identity.passwordFile {
      files[i].bytes += Array("askpass \(password)\n".utf8)
    } else {
      obstacles.append(
        "the profile does not hold the password of \(identity.file): put it into a file for root alone, and name that with `askpass` in \(files[i].name)"
      )
    }
    report.record("\(files[i].name) names the identity \(identity.file)")
  }
}
