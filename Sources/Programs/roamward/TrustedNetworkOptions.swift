import ArgumentParser
import NetworkTypes
import PolicyAuthoring
import RoamwardCore
import Terminal

/// The networks on which an imported tunnel is to be down.
struct TrustedNetworkOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Trust this machine's network (here), or a named network.", discussion: "The imported tunnel is down there. Repeatable.",
      valueName: "here|name"))
  var except: [String] = []
  @Option(help: ArgumentHelp("Trust Wi-Fi networks of this name; repeatable.", valueName: "ssid")) var exceptSsid: [String] = []
  @Flag(help: "Write no rules: start it with `roamward up`.") var manual = false

  func validate() throws {
    if manual, isChosen { throw ValidationError("--manual writes no rules, so it excludes --except and --except-ssid") }
    for name in exceptSsid where SSID(name) == nil { throw ValidationError("--except-ssid \(name): an SSID has 1 to 32 bytes") }
    guard named.count <= 1 else { throw ValidationError("--except takes `here`, and at most one named network") }
  }

  /// Whether the user has chosen networks.
  var isChosen: Bool { !except.isEmpty || !exceptSsid.isEmpty }

  var needsNetwork: Bool { except.contains("here") }

  private var named: [String] { except.filter { $0 != "here" } }

  /// The named network of the rule; others are added to it.
  var network: String { named.first ?? NetworkText.trusted }

  /// The same with the answers of the person at the terminal, if nothing was chosen yet.
  func asked(_ snapshot: NetworkSnapshot?) -> TrustedNetworkOptions {
    guard !manual, !isChosen else { return self }
    var options = self
    if let snapshot, let evidence = NetworkEvidence(of: snapshot) {
      writeError("This machine is on \(snapshot.place): \(evidence.text).\n")
      if let weakness = evidence.weakness {
        writeError("It cannot be recognised safely: \(weakness). `roamward trust` can add it later.\n")
      } else if confirmed("Do you trust this network, so that the tunnel is down here?", default: false) {
        options.except = ["here"]
      }
    }
    return options
  }
}

extension NetworkSnapshot {
  /// `wifi wlan0, ssid "Home"`.
  var place: String {
    guard let link = primaryLink else { return "no network" }
    return "\(link.type.value?.rawValue ?? "a link of unknown type") \(link.name)"
      + ((link.ssid.value ?? nil).map { ", ssid \"\($0)\"" } ?? "")
  }
}
