import KernelModel
internal import LinuxIO
package import NetworkTypes
internal import ProbeProtocol
package import RoamwardCore
package import SystemdIO

/// The path of a probe, outside every tunnel.
package struct ProbePassage: Equatable, Sendable {
  /// The link that it must use; `nil`: any, for tests.
  package var link: String?
  /// The firewall mark that excludes it from every tunnel; 0: none.
  package var mark: UInt32
  /// The servers to query for the name.
  package var nameServers: Fact<[IPAddress]>

  package init(link: String?, mark: UInt32 = Ownership.mark, nameServers: Fact<[IPAddress]>) {
    self.link = link
    self.mark = mark
    self.nameServers = nameServers
  }
}

/// Sends probes from the underlay: the confined process resolves the name and sends the request, on bound and marked sockets.
///
/// There is no proxy, no cookie, no redirect and no persistent connection. If the kernel forbids binding or marking a socket, nothing is
/// sent; both require CAP_NET_ADMIN.
package final class ProbeRunner {
  private let loop: EventLoop
  private let helper: ProbeHelper
  private let resolver: EndpointResolver

  package init(on loop: EventLoop, _ helper: ProbeHelper, resolver: EndpointResolver) {
    self.loop = loop
    self.helper = helper
    self.resolver = resolver
  }

  /// Sends one request. `then` is called once, later, never during this call, within the request's time limit; releasing the run cancels
  /// it.
  package func run(_ request: ProbeRequest, by passage: ProbePassage, then: @escaping (ProbeReply) -> Void) -> ProbeRun {
    let run = ProbeRun(request, passage, loop: loop, helper, resolver: resolver, then: then)
    run.begin()
    return run
  }
}

/// A request in progress, as long as the value is retained.
package final class ProbeRun {
  private let request: ProbeRequest
  private let passage: ProbePassage
  private let loop: EventLoop
  private let helper: ProbeHelper
  private let resolver: EndpointResolver
  private var handler: ((ProbeReply) -> Void)?
  private var deadline: EventSource?
  private var soon: EventSource?
  private var lookup: Lookup?
  private var transfer: ErrandRun?

  fileprivate init(
    _ request: ProbeRequest, _ passage: ProbePassage, loop: EventLoop, _ helper: ProbeHelper, resolver: EndpointResolver,
    then handler: @escaping (ProbeReply) -> Void
  ) {
    self.request = request
    self.passage = passage
    self.loop = loop
    self.helper = helper
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
    deadline = try? loop.at(.now + wait) { [weak self] in
      guard let self else { return }
      let isWaiting = lookup?.isWaiting ?? transfer?.isWaiting ?? false
      finish(
        isWaiting
          ? .unsent(reason: "\(ProbeHelper.program) was not ready within \(wait)") : .unanswered(reason: "no answer within \(wait)"))
    }
    guard deadline != nil else { return finishSoon(.unsent(reason: "the event loop takes no timer")) }
    guard let parts = URLParts(request.url) else { return finishSoon(.unsent(reason: "the URL cannot be read")) }
    switch parts.host {
    case .address(let address): send(to: [address])
    case .name(let name): lookUp(name)
    }
  }

  private func lookUp(_ name: DomainName) {
    switch passage.nameServers {
    case .unknown(let reason): finishSoon(.unsent(reason: "the network's name servers are unknown: \(reason)"))
    case .known(let servers):
      lookup = resolver.resolve(name, servers: servers, link: passage.link, mark: passage.mark == 0 ? nil : passage.mark) {
        [weak self] result in
        switch result {
        case .success(let addresses): self?.send(to: addresses)
        case .failure(.notSent(_, let reason)): self?.finish(.unsent(reason: reason))
        case .failure(let error): self?.finish(.unanswered(reason: error.description))
        }
      }
    }
  }

  private func send(to addresses: [IPAddress]) {
    lookup = nil
    let order = Transfer(
      url: request.url, addresses: Array(addresses.prefix(ProbeLimits.addresses)), pins: request.pins, accept: request.accept,
      bodyLimit: min(request.bodyLimit, ProbeLimits.body))
    let way = Passage(link: passage.link, mark: passage.mark == 0 ? nil : passage.mark)
    transfer = helper.run(.transfer(order), by: way) { [weak self] result in
      switch result {
      case .success(let answer): self?.finish(ProbeReply(answer))
      case .failure(let failure): self?.finish(.unsent(reason: failure.description))
      }
    }
  }

  private func finishSoon(_ reply: ProbeReply) { soon = try? loop.at(.now) { [weak self] in self?.finish(reply) } }

  private func finish(_ reply: ProbeReply) {
    let handler = handler
    cancel()
    handler?(reply)
  }
}

extension ProbeReply {
  fileprivate init(_ answer: ErrandAnswer) {
    switch answer {
    case .response(let status, let body): self = .response(status: status, body: body)
    case .impostor(let reason): self = .impostor(reason: reason)
    case .unanswered(let reason): self = .unanswered(reason: reason)
    case .unsent(let reason), .failed(let reason): self = .unsent(reason: reason)
    case .addresses, .noSuchName, .noAddress, .silence, .cancelled: self = .unsent(reason: "it was not sent")
    }
  }
}
