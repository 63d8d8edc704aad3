import KernelModel
internal import NetworkTypes

/// The steps for the DNS backend.
///
/// A link's settings disappear with the link, so nothing is reverted on a link that will be deleted.
func resolverSteps(from observed: ObservedState, to desired: DesiredState) -> (make: [Step], unmake: [Step]) {
  var make: [Step] = []
  var unmake: [Step] = []
  let resolver = observed.resolver
  if case .value = resolver.facts.resolved {
    let staying = Set(desired.links.filter { $0.device != .foreign }.map(\.name))
    // A link that a command brings may not exist (yet).
    for (link, wanted) in desired.resolvedLinks.sorted(by: { $0.key < $1.key })
    where (staying.contains(link) || observed.kernel.link(named: link) != nil) && !(resolver.links[link]?.isSame(as: wanted) ?? false)
      && link != Ownership.refusalLink
    {
      make.append(.setLinkResolver(wanted, link: link))
    }
    if let step = refusalStep(from: resolver, to: desired, others: make) { make.insert(step, at: 0) }
    for (link, found) in resolver.links.sorted(by: { $0.key < $1.key })
    where desired.resolvedLinks[link] == nil && !found.isEmpty && (staying.contains(link) || resolver.touched.contains(link)) {
      unmake.append(.revertLinkResolver(link: link))
    }
  }
  if let settings = desired.nameServer {
    switch resolver.nameServer {
    case .running(settings), .runningElsewhere: break
    case .running, .absent: make.insert(.setNameServer(settings), at: 0)
    }
  }
  if let record = desired.record {
    let isInForce = resolver.records[record.name] == record.content && resolver.effectiveServers.starts(with: record.content.nameServers)
    if !isInForce { make.append(.setRecord(record)) }
  }
  unmake += resolver.records.keys.sorted().filter { $0 != desired.record?.name }.map { .removeRecord($0) }
  return (make, unmake)
}

/// The step for refused names. Names are refused before a tunnel releases them, and until another has them. A release comes after all
/// `others`, in a plan of its own.
private func refusalStep(from resolver: ObservedResolver, to desired: DesiredState, others: [Step]) -> Step? {
  guard var wanted = desired.resolvedLinks[Ownership.refusalLink] else { return nil }
  let found = resolver.links[Ownership.refusalLink]
  if !others.isEmpty { wanted.domains += (found?.domains ?? []).filter { !wanted.domains.contains($0) } }
  return found?.isSame(as: wanted) ?? false ? nil : .setLinkResolver(wanted, link: Ownership.refusalLink)
}
