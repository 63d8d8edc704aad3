import ArgumentParser
import ControlProtocol

struct Release: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Opens the firewall: what a kill switch holds back flows again.",
    discussion: """
      Lasts until the network changes, or as long as --for or --until say; `roamward resume` ends it. With --portal only the web and DNS are
      open, for a captive portal, for ten minutes at most. The journal says who asked for it.
      """)

  @OptionGroup var agent: AgentOptions
  @Flag(help: "Only the web and DNS, for a captive portal.") var portal = false
  @Option(name: .customLong("for"), help: ArgumentHelp("How long: 5m, 1h.", valueName: "duration")) var duration: String?
  @Option(help: ArgumentHelp("network-change (the default) or resume.", valueName: "end")) var until: HoldOptions.End?
  @Option(help: ArgumentHelp("Why; shown by `status`.", valueName: "text")) var reason: String?

  func validate() throws {
    if duration != nil, until != nil { throw ValidationError("--for and --until are two ends; give one") }
    if let duration, (seconds(duration) ?? 0) < 1 { throw ValidationError("--for takes a duration of a second or more: 5m, 1h") }
  }

  func run() throws {
    let length = duration.flatMap(seconds)
    let end: HoldRequest.Until = length.map { .seconds(Int64($0)) } ?? (until == .resume ? .resume : .networkChange)
    _ = try agent.ask(.release(ReleaseRequest(isPortal: portal, until: end, reason: reason)))
    write("the firewall is open\(portal ? " for the web and DNS" : ""); `roamward resume` closes it\n")
  }
}
