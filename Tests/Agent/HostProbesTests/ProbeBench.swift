import HostProbes
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

/// The place that a test's probes are sent from: loopback of a network namespace of its own, with a DNS server.
struct ProbeBench {
  let loop: EventLoop
  let dns: TinyDNSServer
  let helper: ProbeHelper
  let runner: ProbeRunner
  var passage: ProbePassage

  /// Every name has these addresses.
  init(on loop: EventLoop, names: [IPAddress], link: String? = "lo") throws {
    self.loop = loop
    dns = try TinyDNSServer(on: loop) { name, kind in
      if name.hasPrefix("nowhere.") { return .noSuchName }
      let addresses = names.filter { ($0.family == .v6) == (kind == .aaaa) }
      return addresses.isEmpty ? .noData : .addresses(addresses)
    }
    helper = ProbeHelper(on: loop)
    runner = ProbeRunner(on: loop, helper, resolver: EndpointResolver(on: loop, helper, port: dns.port))
    passage = ProbePassage(link: link, nameServers: .known([try #require(IPAddress("127.0.0.1"))]))
  }

  /// Runs one probe against what `serve` makes; gives the reply and what else the server saw.
  static func reply(
    to request: ProbeRequest, names: [String] = ["127.0.0.1"], serve: (EventLoop) throws -> TinyHTTPServer?,
    change: (inout ProbePassage) -> Void = { _ in }
  ) throws -> (reply: ProbeReply, requests: [String], sent: Int, questions: [String]) {
    try onLoop { loop, done in
      let server = try serve(loop)
      var bench = try ProbeBench(on: loop, names: names.map { try #require(IPAddress($0)) })
      change(&bench.passage)
      var request = request
      request.url = request.url.replacing(":PORT", with: ":\(server?.port ?? 9)")
      var isLater = false
      let run = bench.runner.run(request, by: bench.passage) { [dns = bench.dns] reply in
        #expect(isLater, "it calls back from the loop alone")
        done((reply, server?.requests ?? [], server?.sent ?? 0, dns.questions))
      }
      isLater = true
      return (server, bench, run)
    }
  }
}
