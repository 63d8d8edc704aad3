package import HostDNS
import KernelModel
internal import LinuxIO
package import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// By what way a probe leaves, past every tunnel.
package struct ProbePassage: Hashable, Sendable {
  /// The link it has to leave by; `nil`: any, which is for tests.
  package var link: String?
  /// The firewall mark that keeps it out of every tunnel; 0: none.
  package var mark: UInt32
  /// Whom to ask for the name, and by which link.
  package var nameServers: Fact<[IPAddress]>

  package init(link: String?, mark: UInt32 = Ownership.mark, nameServers: Fact<[IPAddress]>) {
    self.link = link
    self.mark = mark
    self.nameServers = nameServers
  }
}

/// Sends probes from the underlay: the name is looked up by c-ares, the request made by libcurl, both bound to the link and marked, and both
/// driven by the event loop.
///
/// There is no proxy, no cookie, no redirect and no connection that is kept. Where the kernel forbids binding or marking a socket nothing is
/// sent; both want CAP_NET_ADMIN.
package final class ProbeRunner {
  private let loop: EventLoop
  private let resolver: EndpointResolver

  package init(on loop: EventLoop, resolver: EndpointResolver) {
    self.loop = loop
    self.resolver = resolver
  }

  /// Sends one request. `then` is called once, later, never from within this call, and within the request's time; dropping the run cancels it.
  package func run(_ request: ProbeRequest, by passage: ProbePassage, then: @escaping (ProbeReply) -> Void) -> ProbeRun {
    let run = ProbeRun(request, passage, loop: loop, resolver: resolver, then: then)
    run.begin()
    return run
  }
}

/// A request under way: lasts as long as the value is kept.
package final class ProbeRun {
  private let request: ProbeRequest
  private let passage: ProbePassage
  private let loop: EventLoop
  private let resolver: EndpointResolver
  private var handler: ((ProbeReply) -> Void)?
  private var deadline: EventSource?
  private var soon: EventSource?
  private var lookup: Lookup?
  private var transfer: CurlTransfer?

  fileprivate init(
    _ request: ProbeRequest, _ passage: ProbePassage, loop: EventLoop, resolver: EndpointResolver,
    then handler: @escaping (ProbeReply) -> Void
  ) {
    self.request = request
    self.passage = passage
    self.loop = loop
    self.resolver = resolver
    self.handler = handler
  }

  /// Ends it at once; its handler will not be called.
  package func cancel() {
    handler = nil
    deadline = nil
    soon = nil
    lookup = nil
    transfer = nil
  }

  fileprivate func begin() {
    let wait = request.timeout
    deadline = try? loop.at(.now + wait) { [weak self] in self?.finish(.unanswered(because: "no answer within \(wait)")) }
    guard deadline != nil else { return finishSoon(.unsent(because: "the event loop takes no timer")) }
    guard let parts = URLParts(request.url) else { return finishSoon(.unsent(because: "the URL cannot be read")) }
    switch parts.host {
    // Loading and connecting begin from the loop too, so that nothing is called back from within this call.
    case .address: soon = try? loop.at(.now) { [weak self] in self?.send(parts, to: nil) }
    case .name(let name): lookUp(name, then: parts)
    }
  }

  private func lookUp(_ name: DomainName, then parts: URLParts) {
    switch passage.nameServers {
    case .unknown(let reason): finishSoon(.unsent(because: "the network's name servers are unknown: \(reason)"))
    case .known(let servers):
      lookup = resolver.resolve(name, servers: servers, link: passage.link, mark: passage.mark == 0 ? nil : passage.mark) {
        [weak self] result in
        switch result {
        case .success(let addresses): self?.send(parts, to: addresses)
        case .failure(.notSent(_, let reason)): self?.finish(.unsent(because: reason))
        case .failure(let error): self?.finish(.unanswered(because: error.description))
        }
      }
    }
  }

  /// `addresses`: those that the name has; `nil` where the URL names an address itself.
  private func send(_ parts: URLParts, to addresses: [IPAddress]?) {
    lookup = nil
    do throws(CurlTransfer.Failure) {
      transfer = try CurlTransfer(request, parts, addresses, link: passage.link, mark: passage.mark, on: loop) { [weak self] in
        self?.finish($0)
      }
    } catch {
      finish(.unsent(because: error.description))
    }
  }

  private func finishSoon(_ reply: ProbeReply) { soon = try? loop.at(.now) { [weak self] in self?.finish(reply) } }

  private func finish(_ reply: ProbeReply) {
    let handler = handler
    cancel()
    handler?(reply)
  }
}
