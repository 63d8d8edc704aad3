package import GatewayCore
internal import KernelNetwork
package import NetworkTypes

/// The ways of packets that come out of the tunnel, by the kernel's own routes, rules and checks.
package struct HostRoutes {
  private let reader: KernelReader?

  package init() { reader = try? KernelReader() }

  /// `nil`: it cannot be known, for example because this gateway does not run.
  package func path(from source: IPAddress, to destination: IPAddress, in directory: Directory) -> HostPath? {
    guard let reader, let link = directory.site?.link.description,
      let answer = try? reader.route(to: destination, from: (source, link))
    else { return nil }
    return switch answer {
    case .unknownLink: nil
    case .local: .local
    case _ where !Forwarding.isOn(destination.family): .notForwarded
    case .withoutCarrier(let link): .withoutCarrier(link: link)
    case .leaves(let link, let gateway): .leaves(link: link, nextHop: gateway)
    case .none(let reason): .noRoute(reason)
    }
  }
}
