/* Races within a graph: two nodes that touch a byte, one of them writing it, with no path of edges
 * between.
 *
 * A launch runs the nodes one after the other, so that all look ordered. Races are therefore looked
 * for in the graph itself, once, when it is instantiated.
 */
#include "calls.h"
#include "detector.h"

#include <stdlib.h>
#include <string.h>

struct ancestors { /* per node, the set of nodes with a path to it, as bits */
    size_t words;
    uint64_t *bits;
};

static uint64_t *row(const struct ancestors *all, size_t node)
{
    return &all->bits[node * all->words];
}

static bool is_ancestor(const struct ancestors *all, size_t node, size_t of)
{
    return row(all, of)[node / 64] >> node % 64 & 1;
}

/* Edges lead from earlier nodes to later ones: the order of capture. */
static void find_ancestors(const struct graph *graph, struct ancestors *all)
{
    for (size_t i = 0; i < graph->count; i++)
        graph->node[i]->index = i;
    for (size_t i = 0; i < graph->count; i++) {
        const struct nodes *before = graph->node[i]->before;
        for (size_t k = 0; before && k < before->count; k++) {
            size_t parent = before->node[k]->index;
            for (size_t w = 0; w < all->words; w++)
                row(all, i)[w] |= row(all, parent)[w];
            row(all, i)[parent / 64] |= 1ull << parent % 64;
        }
    }
}

static struct actor actor_of(const struct node *node)
{
    return (struct actor){&host_clock, HOST_SLOT, 0, node->stream, node->op->name};
}

static void compare(const struct node *earlier, const struct node *later)
{
    for (int i = 0; i < earlier->op->accesses; i++)
        for (int k = 0; k < later->op->accesses; k++) {
            const struct access *a = &earlier->op->access[i], *b = &later->op->access[k];
            if ((!a->write && !b->write) || !regions_overlap(&a->region, &b->region))
                continue;
            struct actor first = actor_of(earlier), second = actor_of(later);
            report_pair(&first, a, &second, b);
            return;
        }
}

void graph_find_races(const struct graph *graph)
{
    if (driver.races == RACES_OFF || graph->count < 2)
        return;
    struct ancestors all = {(graph->count + 63) / 64, NULL};
    all.bits = calloc(graph->count, all.words * sizeof *all.bits);
    find_ancestors(graph, &all);
    for (size_t later = 1; later < graph->count; later++)
        for (size_t earlier = 0; earlier < later; earlier++)
            if (!is_ancestor(&all, earlier, later))
                compare(graph->node[earlier], graph->node[later]);
    free(all.bits);
}
