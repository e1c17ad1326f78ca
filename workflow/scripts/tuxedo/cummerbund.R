# Plots of a cuffdiff run, drawn by cummeRbund, and the table of its significant genes.
#
#   Rscript cummerbund.R CUFFDIFF_FOLDER OUTPUT_FOLDER FDR TOP_GENES [CONTRAST]
#
# CONTRAST, where there are several, tells plots of one from those of another for MultiQC.
# Every plot becomes a PNG and a PDF. Whether the data allow it is looked at beforehand: plots.tsv lists all plots, drawn
# or skipped with the reason. An error while drawing is an error. The folder multiqc holds what MultiQC shows.

suppressPackageStartupMessages({
  library(cummeRbund)
  library(ggplot2)
})

MIN_EXPRESSED <- 3 # genes a replicate, for a density, a spread or a principal component
MIN_SIGNIFICANT <- 2 # genes, for a heat map
LEAST_COUNT <- 0.1 # fragments
MOST_ROWS <- 1000 # of a heat map: its clustering takes time and memory by their square
LABELLED_ROWS <- 60 # beyond it, names in a heat map run into each other
LISTED_REPLICATES <- 20 # beyond it, their legend takes half of a plot, and numbers hide the colours of distances
NAME_PT <- 9
AXIS_PT <- 360 # the length of an axis

# ---- tables ------------------------------------------------------------------------------------------

read_tests <- function(folder) {
  path <- file.path(folder, "gene_exp.diff")
  tests <- read.delim(path, check.names = FALSE, quote = "", comment.char = "", stringsAsFactors = FALSE)
  names(tests)[names(tests) == "log2(fold_change)"] <- "log2_fold_change"
  tests
}

# The strongest evidence first; among equal q values, the larger change.
significant_tests <- function(tests, fdr) {
  kept <- tests[tests$status == "OK" & tests$q_value <= fdr, setdiff(names(tests), c("test_id", "status", "significant"))]
  kept[order(kept$q_value, -abs(kept$log2_fold_change), kept$gene_id), ]
}

write_table <- function(rows, path) write.table(rows, path, sep = "\t", quote = FALSE, row.names = FALSE)

gene_label <- function(tests) ifelse(tests$gene == "-", tests$gene_id, tests$gene)

file_safe <- function(name) gsub("[^A-Za-z0-9._-]+", "_", name)

# ---- what the data do not allow: a reason, or an empty text -------------------------------------------

few_expressed <- function(fpkm) {
  expressed <- colSums(fpkm > 0)
  least <- which.min(expressed)
  if (expressed[[least]] >= MIN_EXPRESSED) return("")
  sprintf("%s has %d expressed genes, %d are needed", names(expressed)[least], expressed[[least]], MIN_EXPRESSED)
}

few_significant <- function(genes) {
  if (length(genes) >= MIN_SIGNIFICANT) return("")
  sprintf("%d significant genes, %d are needed", length(genes), MIN_SIGNIFICANT)
}

# ---- plots -------------------------------------------------------------------------------------------

# One plot to be: `draw` is called only where there is no `reason` against it.
plot_of <- function(name, reason, draw, summary = TRUE) {
  list(name = name, reason = reason, draw = draw, summary = summary)
}

# Cufflinks shares fragments out to isoforms in parts as small as 1e-200, which would take up the whole plot.
above_noise <- function(plot) {
  plot + coord_cartesian(
    xlim = c(LEAST_COUNT, max(LEAST_COUNT * 10, plot$data$count)),
    ylim = c(LEAST_COUNT^2, max(LEAST_COUNT * 10, plot$data$dispersion))
  )
}

name_size <- function(replicates) element_text(size = min(NAME_PT, AXIS_PT / replicates))

distance_plot <- function(cuff, replicates) {
  plot <- csDistHeat(genes(cuff), replicates = TRUE)
  if (replicates > LISTED_REPLICATES) plot$layers <- list(geom_tile())
  plot + theme(axis.text.x = name_size(replicates), axis.text.y = name_size(replicates))
}

read_table <- function(folder, name) {
  read.delim(file.path(folder, name), quote = "", comment.char = "", stringsAsFactors = FALSE)
}

# Samples by their own names, which Cuffdiff numbers within their condition (wt_0): read_groups.info has their files.
pca_plot <- function(folder, replicates) {
  groups <- read_table(folder, "read_groups.info")
  groups$sample <- sub("[.]cxb$", "", basename(groups$file))
  values <- merge(read_table(folder, "genes.read_group_tracking"), groups,
                  by.x = c("condition", "replicate"), by.y = c("condition", "replicate_num"))
  expression <- log2(unclass(xtabs(FPKM ~ tracking_id + sample, values)) + 1)
  found <- prcomp(t(expression))
  share <- 100 * found$sdev^2 / max(sum(found$sdev^2), .Machine$double.eps)
  points <- data.frame(found$x[, 1:2], sample = rownames(found$x))
  points$condition <- groups$condition[match(points$sample, groups$sample)]
  ggplot(points, aes(PC1, PC2, colour = condition, label = sample)) +
    geom_point() +
    geom_text(vjust = -0.8, size = 3, show.legend = FALSE, check_overlap = replicates > LISTED_REPLICATES) +
    scale_x_continuous(sprintf("PC1 (%.0f%% of variance)", share[1]), expand = expansion(mult = 0.15)) +
    scale_y_continuous(sprintf("PC2 (%.0f%% of variance)", share[2]), expand = expansion(mult = 0.15))
}

summary_plots <- function(cuff, fpkm, folder) {
  reason <- few_expressed(fpkm)
  replicates <- ncol(fpkm)
  legend <- theme(legend.position = if (replicates > LISTED_REPLICATES) "none" else "right")
  axis <- theme(axis.text.x = name_size(replicates))
  list(
    plot_of("density", reason, function() csDensity(genes(cuff), replicates = TRUE, pseudocount = 1) + legend),
    plot_of("box", reason, function() csBoxplot(genes(cuff), replicates = TRUE) + legend + axis),
    plot_of("dispersion", reason, function() above_noise(dispersionPlot(genes(cuff)))),
    plot_of("pca", reason, function() pca_plot(folder, replicates)),
    plot_of("replicate_distance", reason, function() distance_plot(cuff, replicates))
  )
}

# cummeRbund spells conditions in its own way (wt-2h is wt_2h); `own` holds its names in the order of `conditions`.
pair_plots <- function(cuff, tests, conditions, own, fdr) {
  plots_of <- function(pair) {
    suffix <- if (length(conditions) > 2) paste0(".", paste(conditions[pair], collapse = ".")) else ""
    tested <- tests$status == "OK" & tests$sample_1 == conditions[pair[1]] & tests$sample_2 == conditions[pair[2]]
    reason <- if (any(tested)) "" else "no gene has enough fragments for a test"
    change <- abs(tests$log2_fold_change[tested])
    limits <- c(-1, 1) * max(1, ceiling(change[is.finite(change)])) # symmetric, wide enough for all tested genes
    list(
      plot_of(paste0("volcano", suffix), reason, function() {
        csVolcano(genes(cuff), own[pair[1]], own[pair[2]], alpha = fdr, showSignificant = TRUE, xlimits = limits)
      }),
      plot_of(paste0("scatter", suffix), reason, function() csScatter(genes(cuff), own[pair[1]], own[pair[2]]))
    )
  }
  unlist(combn(seq_along(conditions), 2, plots_of, simplify = FALSE), recursive = FALSE)
}

gene_plots <- function(cuff, significant, top_genes, replicates) {
  ids <- unique(significant$gene_id)
  labels <- gene_label(significant)[match(ids, significant$gene_id)]
  rows <- head(ids, MOST_ROWS)
  heat_map <- plot_of("heat_map", few_significant(ids), function() {
    csHeatmap(getGenes(cuff, rows), cluster = "row", replicates = TRUE, labRow = length(rows) <= LABELLED_ROWS) +
      ggtitle(if (length(ids) > MOST_ROWS) sprintf("The first %d of %d significant genes", MOST_ROWS, length(ids))) +
      theme(axis.text.x = name_size(replicates))
  })
  top <- seq_len(min(top_genes, length(ids)))
  names <- make.unique(paste0("expression.", file_safe(labels[top])), sep = "_")
  bars <- lapply(top, function(i) {
    plot_of(names[i], "", function() expressionBarplot(getGene(cuff, ids[i]), replicates = TRUE), summary = FALSE)
  })
  if (length(top) == 0) bars <- list(plot_of("expression", "no significant genes", NULL, summary = FALSE))
  c(list(heat_map), bars)
}

save_plot <- function(plot, folder, contrast) {
  if (nzchar(plot$reason)) {
    message("skipped ", plot$name, ": ", plot$reason)
    return()
  }
  drawn <- plot$draw()
  png <- file.path(folder, paste0(plot$name, ".png"))
  ggsave(png, drawn, width = 7, height = 6, dpi = 150)
  ggsave(file.path(folder, paste0(plot$name, ".pdf")), drawn, width = 7, height = 6)
  # MultiQC takes letters of "_mqc.png" off the end of a title, which is that of the file: "plot" has none of them there
  shown <- file_safe(paste(c(plot$name, contrast, "plot"), collapse = "."))
  if (plot$summary) file.copy(png, file.path(folder, "multiqc", paste0(shown, "_mqc.png")))
}

main <- function(arguments) {
  source <- arguments[1]
  folder <- arguments[2]
  fdr <- as.numeric(arguments[3])
  dir.create(file.path(folder, "multiqc"), recursive = TRUE, showWarnings = FALSE)
  tests <- read_tests(source)
  significant <- significant_tests(tests, fdr)
  write_table(significant, file.path(folder, "gene_exp.significant.tsv"))

  cuff <- readCufflinks(source, rebuild = TRUE)
  conditions <- unique(c(tests$sample_1, tests$sample_2))
  fpkm <- repFpkmMatrix(genes(cuff))
  plots <- c(
    summary_plots(cuff, fpkm, source),
    pair_plots(cuff, tests, conditions, as.character(samples(genes(cuff))), fdr),
    gene_plots(cuff, significant, as.integer(arguments[4]), ncol(fpkm))
  )
  for (plot in plots) save_plot(plot, folder, contrast = arguments[-(1:4)])
  reasons <- vapply(plots, function(plot) plot$reason, "")
  write_table(
    data.frame(plot = vapply(plots, function(plot) plot$name, ""), drawn = ifelse(nzchar(reasons), "no", "yes"),
               reason = reasons),
    file.path(folder, "plots.tsv")
  )
}

main(commandArgs(trailingOnly = TRUE))
