/// What the programs that keep the resolver have to be told.
///
/// What a link has goes with the link, so nothing is taken back from one that is going to be deleted.
func resolverSteps(from observed: ObservedState, to desired: DesiredState) -> (make: [Step], unmake: [Step]) {
  var make: [Step] = []
  var unmake: [Step] = []
  let resolver = observed.resolver
  if case .said = resolver.facts.resolved {
    let staying = Set(desired.links.filter { $0.device != .foreign }.map(\.name))
    // A link that a command brings may not be there (yet).
    for (link, wanted) in desired.resolvedLinks.sorted(by: { $0.key < $1.key })
    where (staying.contains(link) || observed.kernel.link(named: link) != nil) && !(resolver.links[link]?.isSame(as: wanted) ?? false) {
      make.append(.setLinkResolver(wanted, link: link))
    }
    for (link, found) in resolver.links.sorted(by: { $0.key < $1.key })
    where desired.resolvedLinks[link] == nil && !found.isEmpty && (staying.contains(link) || resolver.touched.contains(link)) {
      unmake.append(.revertLinkResolver(link: link))
    }
  }
  if let record = desired.record {
    let isInForce = resolver.records[record.name] == record.content && resolver.effectiveServers.starts(with: record.content.nameServers)
    if !isInForce { make.append(.setRecord(record)) }
  }
  unmake += resolver.records.keys.sorted().filter { $0 != desired.record?.name }.map { .removeRecord($0) }
  return (make, unmake)
}
