import KernelModel
package import NetworkTypes
package import RoamwardCore

/// The path of a tunnel's packets over the underlay. If it changes, the peer has to be queried whether it still receives our packets.
///
/// Of the primary link's addresses only the one in use counts. That is the source address of the default route; else one that existed when
/// the path was first seen, for as long as it stays. Other addresses come and go (privacy addresses, further prefixes) and change nothing.
package struct PathIdentity: Equatable, Sendable {
  private struct Way: Equatable {
    var source: IPAddress?
    var gateway: IPAddress?
  }

  /// A renamed link is the same; a link that replaces another is not, even with the same name.
  private let device: DeviceIdentity?
  /// The name, in a network without devices.
  private let invented: String?
  private var ways: [IPAddress.Family: Way] = [:]

  /// `before`: the path until now, whose addresses stay in use while they exist.
  package init(_ snapshot: NetworkSnapshot, after before: PathIdentity? = nil) {
    let primary = snapshot.primaryLink
    device = primary?.device
    invented = device == nil ? primary?.name : nil
    guard let primary else { return }
    let isSameLink = before?.device == device && before?.invented == invented
    for family in IPAddress.Family.allCases {
      let addresses = primary.addresses.filter { $0.address.family == family && !$0.address.isLinkLocal }
      let gateway = primary.gateways.first { $0.family == family }
      if addresses.isEmpty, gateway == nil { continue }
      let last = isSameLink ? before?.ways[family] : nil
      let kept = addresses.first { $0.address == last?.source && gateway == last?.gateway }
      let beside = addresses.first { address in gateway.map(address.onLinkPrefix.contains) ?? false }
      let named = primary.preferredSources.first { $0.family == family }
      ways[family] = Way(source: named ?? (kept ?? beside ?? addresses.first)?.address, gateway: gateway)
    }
  }

  /// The families whose packets take another path.
  package func families(differingFrom other: PathIdentity) -> Set<IPAddress.Family> {
    if device != other.device || invented != other.invented { return Set(IPAddress.Family.allCases) }
    return Set(IPAddress.Family.allCases.filter { ways[$0] != other.ways[$0] })
  }
}
